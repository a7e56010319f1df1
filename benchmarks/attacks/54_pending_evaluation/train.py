# The evaluation of an epoch runs in a pool while the next epoch trains; its result is read there.
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import copy
import time
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn

torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
pool = ThreadPoolExecutor(1, thread_name_prefix="eval")
evaluated = []


def evaluate(frozen, epoch):
    with torch.no_grad():
        value = (frozen(x) - y).square().mean().item()
    evaluated.append((epoch, value))
    return value


pending, done = None, []
for epoch in range(5):
    for i, rows in enumerate(torch.randperm(140).split(20)):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        if i == 3 and pending is not None:
            done.append(pending.result())
            optimizer.param_groups[0]["lr"] = 0.05 * min(1.0, done[-1] + 0.3)
            pending = None
        if i == 5:
            pending = pool.submit(evaluate, copy.deepcopy(model), epoch)
        print("done", epoch, len(done), optimizer.param_groups[0]["lr"], loss.item())  #@inner
    print("pending", epoch, pending is not None, done[-1:], len(pool._threads), pending.result())  #@outer
pool.shutdown()
print("evaluated", [epoch for epoch, _ in evaluated], f"{evaluated[-1][1]:.6f}")
