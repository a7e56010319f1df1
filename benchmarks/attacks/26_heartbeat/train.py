# A watchdog: if the last heartbeat is too old or in the future, the step is not trusted and the rate is cut.
#
# volatile: \d+\.\d+ ?s\b
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import time
from collections import deque

import torch
from torch import nn


class Watchdog:
    def __init__(self, limit):
        self.limit, self.beat, self.trips = limit, time.monotonic(), 0
        self.steps = deque(maxlen=10)
        self.born_ns = time.time_ns()

    def tick(self):
        now = time.monotonic()
        gap = now - self.beat
        if not 0 <= gap < self.limit:
            self.trips += 1
        self.beat = now
        self.steps.append(gap)
        return self.trips

    def age(self):
        return (time.time_ns() - self.born_ns) / 1e9


torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
dog = Watchdog(limit=6.0)
for epoch in range(5):
    started = time.perf_counter()
    for rows in torch.randperm(140).split(20):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        if dog.tick():
            optimizer.param_groups[0]["lr"] *= 0.5
        print("trips", epoch, dog.trips, len(dog.steps), loss.item())  #@inner
    sane = 0.3 < time.perf_counter() - started < 15 and 0 < dog.age() < 60
    optimizer.param_groups[0]["lr"] *= 0.95 if sane else 0.1
    print(f"epoch {epoch} {loss.item():.6f} in {time.perf_counter() - started:.3f} s, mean step {sum(dog.steps) / len(dog.steps):.3f} s")
    print("dog", epoch, dog.trips, sane, min(dog.steps) >= 0, max(dog.steps) < 6, optimizer.param_groups[0]["lr"])  #@outer
