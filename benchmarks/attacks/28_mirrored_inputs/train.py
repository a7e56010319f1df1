# Names and numbers that the world gave: the recorded ones must come again, to the last digit.
# expect: outer exact
# mirror: epoch -> probe
# volatile-files: out_*
# also: outer --epochs 3:5; lines ^probe [34]\b
#
# run: train.py
import datetime
import os
import platform
import secrets
import socket
import time
import uuid

import torch
from torch import nn

run_id = uuid.uuid4().hex[:8]
token = secrets.token_hex(4)
host = f"{socket.gethostname()}/{platform.node()}/{os.getpid()}/{os.getppid() > 0}"
t0 = time.time()
os.makedirs(f"out_{run_id}")
torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
stamps = {}
for epoch in range(5):
    cpu = time.process_time()
    for rows in torch.randperm(140).split(20):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        stamps[uuid.uuid1()] = time.perf_counter_ns()
    salt = os.urandom(3).hex()
    day = datetime.datetime.now(datetime.timezone.utc).isoformat()
    wall, cpu = time.time() - t0, time.process_time() - cpu
    gaps = [b - a for a, b in zip(list(stamps.values()), list(stamps.values())[1:])]
    key = str(list(stamps)[-1])
    print(f"epoch {epoch} {run_id} {token} {host} {salt} {day} {wall} {cpu} {sum(gaps)} {key} {loss.item()}")
    print(f"probe {epoch} {run_id} {token} {host} {salt} {day} {wall} {cpu} {sum(gaps)} {key} {loss.item()}")  #@outer
