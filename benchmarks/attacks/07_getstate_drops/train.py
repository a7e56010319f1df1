# A dataset that drops its cache and its counters when pickled (for loader workers), and copies as itself.
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self, n):
        self.n, self.cache, self.hits, self.misses = n, {}, 0, 0

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if i in self.cache:
            self.hits += 1
        else:
            self.misses += 1
            self.cache[i] = torch.randn(6)
        if len(self.cache) > 60:
            self.cache.pop(next(iter(self.cache)))
        return self.cache.get(i, torch.zeros(6))

    def __getstate__(self):
        return {"n": self.n, "cache": {}, "hits": 0, "misses": 0}

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return Rows, (self.n,)


torch.manual_seed(7)
data = Rows(84)
loader = DataLoader(data, batch_size=12, shuffle=True)
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(5):
    for batch in loader:
        loss = (model(batch) - batch.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        print("loss", epoch, data.misses, loss.item())  #@inner
    print("cache", epoch, data.hits, data.misses, list(data.cache)[:4], loss.item())  #@outer
