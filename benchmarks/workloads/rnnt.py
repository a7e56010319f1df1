"""RnnT in miniature: translation by a recurrent network with attention."""

import argparse
import time

import torch
from torch import nn
from torch.nn.functional import cross_entropy

parser = argparse.ArgumentParser()
parser.add_argument("--save", action="store_true")
parser.add_argument("--epochs", type=int, default=4)
args = parser.parse_args()


class Translator(nn.Module):
    def __init__(self, vocabulary, width):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.encoder = nn.GRU(width, width, batch_first=True)
        self.decoder = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(2 * width, vocabulary)

    def forward(self, source, target):
        memory, state = self.encoder(self.embed(source))
        found, _ = self.decoder(self.embed(target), state)
        weights = torch.softmax(found @ memory.transpose(1, 2), -1)
        return self.out(torch.cat([found, weights @ memory], -1))


torch.manual_seed(0)
model = Translator(1000, 256)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
sentences = torch.randint(1000, (12, 12))

begun = time.perf_counter()
for epoch in range(args.epochs):
    total = 0.0
    for batch in torch.randperm(len(sentences)).split(2):
        source, target = sentences[batch], sentences[batch].flip(1)
        loss = cross_entropy(model(source, target).transpose(1, 2), target)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
        time.sleep(0.55)  # the rest of the step is on an accelerator
    print(f"epoch {epoch} loss {total / 6:.6f}")
    if args.save:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, f"epoch{epoch}.pt")
print("seconds", time.perf_counter() - begun)
