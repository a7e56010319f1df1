# Lives and deaths are counted: __init__ and __del__, callbacks of weak references, a WeakValueDictionary.
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import time
import weakref

import torch
from torch import nn


class Sample:
    born = died = 0

    def __init__(self, rows, loss):
        self.rows, self.loss = rows, loss
        Sample.born += 1

    def __del__(self):
        Sample.died += 1


torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
elite, alive, gone = [], weakref.WeakValueDictionary(), []
watch = []
for epoch in range(5):
    for step, rows in enumerate(torch.randperm(140).split(20)):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        sample = Sample(rows, loss.item())
        alive[f"{epoch}.{step}"] = sample
        watch.append(weakref.ref(sample, lambda ref, name=f"{epoch}.{step}": gone.append(name)))
        elite = sorted([*elite, sample], key=lambda s: s.loss)[:5]
        if Sample.died > 12:
            optimizer.param_groups[0]["lr"] = 0.05 / (1 + Sample.died - 12)
        print("alive", epoch, len(alive), len(gone), Sample.born - Sample.died)  #@inner
    print("lives", epoch, Sample.born, Sample.died, sorted(alive), gone[-2:], sum(r() is None for r in watch))  #@outer
    print(f"epoch {epoch} {Sample.born} {Sample.died} {loss.item():.6f}")
