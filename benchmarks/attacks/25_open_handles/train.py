# The data is read line by line from a file that stays open, round and round; the log file stays open as well.
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import time

import torch
from torch import nn

torch.manual_seed(7)
with open("data.txt", "w") as file:
    for row in torch.randn(61, 6).tolist():
        file.write(" ".join(f"{v:.5f}" for v in row) + "\n")
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
source, log = open("data.txt"), open("log.txt", "w+")


def read(n):
    rows = []
    while len(rows) < n:
        line = source.readline()
        if not line:
            source.seek(0)
            continue
        rows.append([float(v) for v in line.split()])
    return torch.tensor(rows)


for epoch in range(5):
    for step in range(7):
        x = read(10)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        log.write(f"{epoch} {step} {loss.item():.4f}\n")
        print("at", epoch, source.tell(), loss.item())  #@inner
    log.flush()
    here = log.tell()
    log.seek(max(0, here - 40))
    tail = log.read()
    log.seek(here)
    optimizer.param_groups[0]["lr"] = 0.05 - 0.0001 * (here % 37)
    print("log", epoch, here, tail.split()[-1], log.closed, optimizer.param_groups[0]["lr"])  #@outer
source.close(), log.close()
