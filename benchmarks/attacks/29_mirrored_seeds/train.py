# Nobody has set a seed: numpy, random and torch are seeded by the system, once or in each epoch.
# expect: outer exact|told
# mirror: epoch -> probe
# also: outer --epochs 3:5; lines ^probe [34]\b
#
# run: train.py
import random
import time

import numpy as np
import torch
from torch import nn

seed = torch.seed()
rng = np.random.default_rng()
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(6, 24), nn.Dropout(0.2), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
system = random.SystemRandom()
for epoch in range(5):
    random.seed()
    order = list(range(140))
    random.shuffle(order)
    for start in range(0, 140, 20):
        rows = order[start : start + 20]
        x[rows] += torch.from_numpy(rng.normal(0, 0.01, (20, 6))).float()
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
    scale = 0.9 + 0.1 * system.random()
    optimizer.param_groups[0]["lr"] *= scale
    drawn, legacy = rng.random(), np.random.rand()
    print(f"epoch {epoch} {seed} {order[:3]} {drawn} {legacy} {scale} {loss.item()}")
    print(f"probe {epoch} {seed} {order[:3]} {drawn} {legacy} {scale} {loss.item()}")  #@outer
