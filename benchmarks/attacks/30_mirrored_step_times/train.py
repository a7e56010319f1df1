# Each step's times in its line: smoothed, compared, formatted in many ways.
# expect: inner exact
# mirror: step -> probe
# also: inner --epochs 3:5; lines ^probe [34]\b
#
# run: train.py
import time
from datetime import date, datetime

import torch
from torch import nn


class Meter:
    def __init__(self):
        self.value, self.average, self.slowest = 0.0, None, (0.0, None)
        self.last = time.perf_counter()

    def lap(self, label):
        now = time.perf_counter()
        self.value, self.last = now - self.last, now
        self.average = self.value if self.average is None else 0.9 * self.average + 0.1 * self.value
        self.slowest = max(self.slowest, (self.value, label))
        return self


torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
meter, began = Meter(), datetime.now()
for epoch in range(5):
    for i, rows in enumerate(torch.randperm(140).split(20)):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        lap = meter.lap(f"{epoch}.{i}")
        when = time.strftime("%H:%M:%S") + time.ctime()[:3] + f"{time.localtime().tm_yday}{date.today()}"
        now, used = datetime.now() - began, time.thread_time_ns()
        print(f"step {epoch} {i} {lap.value} {lap.average} {lap.slowest} {when} {now} {used} {loss.item()}")
        print(f"probe {epoch} {i} {meter.value} {meter.average} {meter.slowest} {when} {now} {used} {loss.item()}")  #@inner
