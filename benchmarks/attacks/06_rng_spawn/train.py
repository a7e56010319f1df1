# Each step spawns a child generator: the parent's SeedSequence counts its children, not its state.
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import time

import numpy as np
import torch
from torch import nn

torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
root = np.random.default_rng(11)
sequence = np.random.SeedSequence(5)
for epoch in range(5):
    for rows in torch.randperm(140).split(20):
        child = root.spawn(1)[0]
        (seed,) = sequence.spawn(1)
        noise = child.normal(0, 0.1, (20, 6)) + np.random.default_rng(seed).normal(0, 0.05, (20, 6))
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows] + torch.from_numpy(noise).float()), y[rows])
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        print("noise", epoch, float(noise.sum()), loss.item())  #@inner
    print("children", epoch, sequence.n_children_spawned, root.bit_generator.seed_seq.n_children_spawned)  #@outer
