# Active learning: the pool of unlabelled rows is a set, rows are taken with pop() and rejected ones go back.
# A set remembers where its last pop() ended: a copy of it pops in another order.
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
pool = set(range(140))
labelled = []
for epoch in range(5):
    for step in range(7):
        query = [pool.pop() for _ in range(12)]
        with torch.no_grad():
            unsure = (model(x[query]) - y[query]).abs().flatten()
        keep = [row for row, u in zip(query, unsure.tolist()) if u > 0.3][:6]
        pool.update(row for row in query if row not in keep)
        labelled.extend(keep)
        rows = labelled[-20:] or query
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        print("query", epoch, step, query[:5], len(pool), loss.item())  #@inner
    print("labelled", epoch, len(labelled), labelled[-6:], list(pool)[:6], loss.item())  #@outer
    if len(pool) < 90:
        pool |= set(labelled[:30])
        del labelled[:30]
