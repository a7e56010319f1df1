# The order of a set of strings decides about the features: it is another one in each process.
# expect: outer exact
# mirror: epoch -> probe
# also: outer --epochs 3:5; lines ^probe [34]\b
#
# run: train.py
import time

import torch
from torch import nn

names = {f"feature{i}" for i in range(24)} | {"age", "size", "hue", "depth", "mass", "tone"}
torch.manual_seed(7)
table = {name: torch.randn(140) for name in names}
y = sum(table.values())[:, None].sin()
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
used = set()
for epoch in range(5):
    for rows in torch.randperm(140).split(20):
        chosen = list(names - used)[:6]
        used.add(chosen[0])
        if len(used) > 20:
            used.pop()
        x = torch.stack([table[name] for name in chosen], 1)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
    print("epoch", epoch, chosen, list(used)[-4:], hash("flor") % 1000, loss.item())
    print("probe", epoch, chosen, list(used)[-4:], hash("flor") % 1000, loss.item())  #@outer
