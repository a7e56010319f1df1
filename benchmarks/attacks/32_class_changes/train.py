# Objects that change their class in the inner loop, classes that are made there, a registry in a metaclass.
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import time
from dataclasses import make_dataclass

import torch
from torch import nn


class Registry(type):
    classes = {}

    def __new__(cls, name, bases, namespace):
        made = super().__new__(cls, name, bases, namespace)
        cls.classes[name] = made
        return made


class Phase(metaclass=Registry):
    rate, steps = 0.05, 0

    def advance(self):
        type(self).steps += 1
        if type(self).steps % 6 == 0:
            self.__class__ = self.following()

    def following(self):
        return Hot


class Hot(Phase):
    rate = 0.08

    def following(self):
        n = len(Registry.classes)
        return Registry(f"Stage{n}", (Hot,), {"rate": 0.08 / n, "steps": 0})


torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
phase, records = Phase(), []
for epoch in range(5):
    for rows in torch.randperm(140).split(20):
        optimizer.param_groups[0]["lr"] = phase.rate
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        phase.advance()
        Record = make_dataclass(f"Record{len(records)}", [("loss", float), ("phase", str)])
        records.append(Record(round(loss.item(), 6), type(phase).__name__))
        print("phase", epoch, type(phase).__name__, phase.rate, records[-1])  #@inner
    print("classes", epoch, list(Registry.classes), type(phase).__mro__[1].__name__, records[-1], Hot.steps)  #@outer
    assert isinstance(phase, Phase) and Registry.classes[type(phase).__name__] is type(phase)
