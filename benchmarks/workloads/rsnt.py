"""RsNt in miniature: a ResNet on small images, BatchNorm and Adam; most of each step on an accelerator."""

import argparse
import time

import torch
from squeezenet import resnet
from torch.nn.functional import cross_entropy

parser = argparse.ArgumentParser()
parser.add_argument("--save", action="store_true")
parser.add_argument("--epochs", type=int, default=3)
args = parser.parse_args()

torch.manual_seed(0)
images = torch.randn(6, 3, 32, 32)
labels = (images.mean((1, 2, 3)) > 0).long()
model = resnet(100, 64, 6)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
best = float("inf")

begun = time.perf_counter()
for epoch in range(args.epochs):
    model.train()
    total = 0.0
    for batch in torch.randperm(len(images)).split(1):
        optimizer.zero_grad()
        loss = cross_entropy(model(images[batch]), labels[batch])
        loss.backward()
        optimizer.step()
        total += loss.item()
        time.sleep(0.75)  # the rest of the step is on an accelerator
    best = min(best, total)
    print(f"epoch {epoch} loss {total / 6:.6f} best {best / 6:.6f}")
    if args.save:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, f"epoch{epoch}.pt")
print("seconds", time.perf_counter() - begun)
