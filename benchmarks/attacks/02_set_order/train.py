# A set of large ints that shrank: its order depends on the table that it once needed.
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import time

import torch
from torch import nn

torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
active = {row * 37 % 1009 for row in range(140)}
row_of = {row * 37 % 1009: row for row in range(140)}
for epoch in range(5):
    for step in range(7):
        order = list(active)
        rows = [row_of[key] for key in order[step * 3 : step * 3 + 12]]
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        for key in order[:: 11 + step]:
            if len(active) > 30:
                active.discard(key)
        print("order", epoch, step, order[:4], loss.item())  #@inner
    first = next(iter(active))
    for group in optimizer.param_groups:
        group["lr"] = 0.02 + (first % 7) * 0.005
    print(f"active {epoch} {len(active)} {list(active)[:8]} {first} {optimizer.param_groups[0]['lr']:.3f}")  #@outer
