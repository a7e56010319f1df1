"""Jasp in miniature: a Jasper-like stack of one-dimensional convolutions with CTC loss. Few, long epochs."""

import argparse
import time

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--save", action="store_true")
parser.add_argument("--epochs", type=int, default=3)
args = parser.parse_args()


def block(inside, outside):
    return nn.Sequential(nn.Conv1d(inside, outside, 11, padding=5), nn.BatchNorm1d(outside), nn.ReLU(), nn.Dropout(0.1))


torch.manual_seed(0)
model = nn.Sequential(block(64, 256), *(block(256, 256) for _ in range(5)), nn.Conv1d(256, 29, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
sound = torch.randn(4, 64, 40)
words = torch.randint(1, 29, (4, 12))
ctc = nn.CTCLoss()

begun = time.perf_counter()
for epoch in range(args.epochs):
    total = 0.0
    for batch in torch.randperm(len(sound)).split(1):
        scores = model(sound[batch]).permute(2, 0, 1).log_softmax(2)
        loss = ctc(scores, words[batch], torch.full((1,), 40), torch.full((1,), 12))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        time.sleep(1.1)  # the rest of the step is on an accelerator
    print(f"epoch {epoch} loss {total / 4:.6f}")
    if args.save:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, f"epoch{epoch}.pt")
print("seconds", time.perf_counter() - begun)
