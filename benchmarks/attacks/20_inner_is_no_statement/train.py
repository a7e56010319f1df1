# The inner loop is a comprehension, a map into a deque, a reduce: no for statement at all.
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import functools
import time
from collections import deque

import torch
from torch import nn

torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
best = {"loss": 9.0, "at": None}


def train_step(rows):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x[rows]), y[rows])
    loss.backward()
    optimizer.step()
    time.sleep(0.05)
    value = loss.item()
    if value < best["loss"]:
        best.update(loss=value, at=tuple(rows[:2].tolist()))
    print("step", epoch, value, best["at"])  #@inner
    return value


def fold(average, rows):
    return 0.9 * average + 0.1 * train_step(rows)


average = 1.0
for epoch in range(5):
    loader = torch.randperm(140).split(20)
    if epoch % 3 == 0:
        losses = [train_step(rows) for rows in loader]
    elif epoch % 3 == 1:
        average = functools.reduce(fold, loader, average)
    else:
        deque(map(train_step, loader), maxlen=0)
    print("best", epoch, best, average, [f"{v:.4f}" for v in losses])  #@outer
