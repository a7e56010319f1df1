"""RTE in miniature: a RoBERTa-like encoder of which only the head is trained. Short epochs, a large state."""

import argparse
import time

import torch
from encoder import Classifier, Encoder
from torch.nn.functional import cross_entropy

parser = argparse.ArgumentParser()
parser.add_argument("--save", action="store_true")
parser.add_argument("--epochs", type=int, default=7)
parser.add_argument("--batches", type=int, default=6)
args = parser.parse_args()

torch.manual_seed(0)
model = Classifier(Encoder(40_000, 512, 2, 8, 64), 512, 2)
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)
tokens = torch.randint(40_000, (2 * args.batches, 8))
labels = tokens[:, 0] % 2

begun = time.perf_counter()
for epoch in range(args.epochs):
    total = 0.0
    for batch in torch.randperm(len(tokens)).split(2):
        loss = cross_entropy(model(tokens[batch]), labels[batch])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        total += loss.item()
        time.sleep(0.32)  # the rest of the step is on an accelerator
    scheduler.step()
    print(f"epoch {epoch} loss {total / args.batches:.6f}")
    if args.save:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, f"epoch{epoch}.pt")
print("seconds", time.perf_counter() - begun)
