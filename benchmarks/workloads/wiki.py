"""Wiki in miniature: a RoBERTa-like language model is trained, all of its weights."""

import argparse
import time

import torch
from encoder import Encoder
from torch import nn
from torch.nn.functional import cross_entropy

parser = argparse.ArgumentParser()
parser.add_argument("--save", action="store_true")
parser.add_argument("--epochs", type=int, default=3)
args = parser.parse_args()

torch.manual_seed(0)
encoder = Encoder(2000, 256, 4, 4, 32)
head = nn.Linear(256, 2000)
head.weight = encoder.tokens.weight
optimizer = torch.optim.AdamW([*encoder.parameters(), head.bias], lr=3e-4)
text = torch.randint(2000, (8, 32))
steps = 0

begun = time.perf_counter()
for epoch in range(args.epochs):
    total = 0.0
    for start in range(0, len(text), 2):
        tokens = text[start : start + 2]
        hidden = torch.rand(tokens.shape) < 0.15
        loss = cross_entropy(head(encoder(tokens.masked_fill(hidden, 0)))[hidden], tokens[hidden])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        steps += 1
        time.sleep(1.1)  # the rest of the step is on an accelerator
    print(f"epoch {epoch} step {steps} loss {total / 4:.6f}")
    if args.save:
        torch.save({"encoder": encoder.state_dict(), "optimizer": optimizer.state_dict()}, f"epoch{epoch}.pt")
print("seconds", time.perf_counter() - begun)
