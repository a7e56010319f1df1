# A cache whose entries expire, a schedule in a heap of times, a rate limiter: all by the clock.
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import heapq
import itertools
import time

import torch
from torch import nn


class Expiring:
    def __init__(self, seconds, clock=time.monotonic):
        self.seconds, self.clock, self.entries, self.misses = seconds, clock, {}, 0

    def get(self, key, make):
        now = self.clock()
        made = self.entries.get(key)
        if made is None or not 0 <= now - made[0] < self.seconds:
            self.misses += 1
            self.entries[key] = made = (now, make())
        return made[1]


torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
cache = Expiring(12.0)
due, ties, ran = [], itertools.count(), []
for k in range(6):
    heapq.heappush(due, (time.time() + 0.001 * k, next(ties), f"job{k}"))
tokens, refilled = 50.0, time.monotonic()
for epoch in range(5):
    for i, rows in enumerate(torch.randperm(140).split(20)):
        noise = cache.get(i, lambda: torch.randn(6) * 0.2)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows] + noise), y[rows])
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        if due and due[0][0] <= time.time():
            ran.append(heapq.heappop(due)[2])
        heapq.heappush(due, (time.time() - 0.01 + i * 1e-4, next(ties), f"job{epoch}{i}"))
        now = time.monotonic()
        tokens = min(50.0, tokens - 1 + max(0.0, 0.0 * (now - refilled)))
        refilled = now
        print("noise", epoch, cache.misses, noise[0].item(), ran[-1], tokens)  #@inner
    print("cache", epoch, cache.misses, len(due), len(ran), ran[-3:], cache.clock is time.monotonic, loss.item())  #@outer
