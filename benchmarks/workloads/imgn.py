"""ImgN in miniature: a wider SqueezeNet on larger images, with a validation pass each epoch."""

import argparse
import time

import torch
from squeezenet import squeezenet
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--save", action="store_true")
parser.add_argument("--epochs", type=int, default=3)
args = parser.parse_args()

torch.manual_seed(0)
images = torch.randn(8, 3, 48, 48)
labels = (images.mean((1, 2, 3)) > 0).long()
loader = DataLoader(TensorDataset(images[:4], labels[:4]), batch_size=1, shuffle=True)
validation = DataLoader(TensorDataset(images[4:], labels[4:]), batch_size=4)
model = squeezenet(1000, scale=2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)


def train():
    model.train()
    total = 0.0
    for x, y in loader:
        loss = cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        time.sleep(1.1)  # the rest of the step is on an accelerator
    return total / len(loader)


def validate():
    model.eval()
    with torch.no_grad():
        return sum(cross_entropy(model(x), y).item() for x, y in validation) / len(validation)


begun = time.perf_counter()
for epoch in range(args.epochs):
    print(f"epoch {epoch} loss {train():.6f} validation {validate():.6f}")
    if args.save:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, f"epoch{epoch}.pt")
print("seconds", time.perf_counter() - begun)
