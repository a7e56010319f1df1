# Bound methods hoisted out of the loop: append, rng.uniform, cache.get, a view of keys.
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import random
import time

import numpy as np
import torch
from torch import nn

torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
history, seen = [], {}
note, lookup, names = history.append, seen.get, seen.keys()
uniform = np.random.default_rng(3).uniform
pick = random.Random(5).choice
for epoch in range(5):
    for rows in torch.randperm(140).split(20):
        jitter = float(uniform(0.9, 1.1))
        optimizer.param_groups[0]["lr"] = 0.05 * jitter * pick([0.5, 1.0])
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        note((epoch, round(loss.item(), 7)))
        key = int(rows[0]) % 30
        seen[key] = lookup(key, 0) + 1
        print("lr", epoch, optimizer.param_groups[0]["lr"], lookup(key), len(names))  #@inner
    print("history", epoch, len(history), history[-1], len(names), lookup(3), uniform.__self__ is uniform.__self__)  #@outer
    if len(note.__self__) > 20:
        optimizer.param_groups[0]["momentum"] = 0.5 + 0.01 * len(note.__self__ is history and names)
