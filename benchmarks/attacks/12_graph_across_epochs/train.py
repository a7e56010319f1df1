# The loss of several steps is summed up and goes backward every four steps, whatever the epoch: the graph is carried.
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import time

import torch
from torch import nn

torch.manual_seed(7)
x = torch.randn(35, 10, 5)
y = x.mean((1, 2))
cell, head = nn.GRUCell(5, 12), nn.Linear(12, 1)
optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=0.02)
total, h, steps, carried = 0.0, torch.zeros(1, 12), 0, []
for epoch in range(5):
    for sequence, target in zip(x.split(5), y.split(5)):
        for t in range(3):
            h = cell(sequence[:1, t], h)
        total = total + (head(h).squeeze() - target.sum()).square()
        steps += 1
        if steps % 4 == 0:
            optimizer.zero_grad()
            total.backward()
            optimizer.step()
            carried.append(float(total.detach()))
            total, h = 0.0, h.detach()
        time.sleep(0.05)
        print("h", epoch, h.sum().item(), h.requires_grad, float(torch.as_tensor(total).detach()))  #@inner
    print("carried", epoch, carried[-1], float(torch.as_tensor(total).detach()), h.grad_fn is None, cell.weight_hh.sum().item())  #@outer
