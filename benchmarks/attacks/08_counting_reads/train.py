# Objects that count how often they are looked at: an LFU cache, an attribute audit. Who looks, changes them.
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import time

import torch
from torch import nn


class LFU(dict):
    def __init__(self, size):
        super().__init__()
        self.size, self.uses = size, {}

    def __getitem__(self, key):
        self.uses[key] = self.uses.get(key, 0) + 1
        return super().__getitem__(key)

    def __iter__(self):
        self.uses["iter"] = self.uses.get("iter", 0) + 1
        return super().__iter__()

    def __setitem__(self, key, value):
        if len(self) >= self.size:
            victim = min((k for k in self.uses if k in self), key=self.uses.get, default=None)
            if victim is not None:
                del self[victim]
        self.uses[key] = 1
        super().__setitem__(key, value)


class Audited:
    def __init__(self):
        object.__setattr__(self, "reads", 0)
        self.rate = 0.05

    def __getattribute__(self, name):
        if not name.startswith("__") and name != "reads":
            object.__setattr__(self, "reads", object.__getattribute__(self, "reads") + 1)
        return object.__getattribute__(self, name)

    def __setattr__(self, name, value):
        object.__setattr__(self, "writes", self.__dict__.get("writes", 0) + 1)
        object.__setattr__(self, name, value)


torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
cache, config = LFU(9), Audited()
for epoch in range(5):
    for rows in torch.randperm(140).split(20):
        key = int(rows[0]) % 25
        if key not in cache:
            cache[key] = torch.randn(6) * 0.1
        noise = cache[key]
        optimizer.param_groups[0]["lr"] = config.rate
        loss = nn.functional.mse_loss(model(x[rows] + noise), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        config.rate *= 0.99
        time.sleep(0.05)
        print("key", epoch, key, cache.uses.get(key), loss.item())  #@inner
    print("reads", epoch, config.reads, len(cache), sorted(cache.uses.items(), key=str)[:5], loss.item())  #@outer
    print(f"epoch {epoch}: {len(cache.uses)} {object.__getattribute__(config, 'writes')} {config.reads} {loss.item():.5f}")
