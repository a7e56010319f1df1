"""Cifr in miniature: SqueezeNet on small images. A small state; most of each step on an accelerator."""

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
images = torch.randn(20, 3, 32, 32)
labels = (images.mean((1, 2, 3)) > 0).long()
loader = DataLoader(TensorDataset(images, labels), batch_size=2, shuffle=True)
model = squeezenet(100)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)


def train_epoch():
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
        time.sleep(0.45)  # the rest of the step is on an accelerator
    return total / len(loader)


begun = time.perf_counter()
for epoch in range(args.epochs):
    model.train()
    print(f"epoch {epoch} loss {train_epoch():.6f}")
    if args.save:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, f"epoch{epoch}.pt")
print("seconds", time.perf_counter() - begun)
