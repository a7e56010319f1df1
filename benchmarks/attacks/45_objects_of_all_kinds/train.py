# Slots, descriptors with weak keys, frozen dataclasses, sentinels compared by identity, wrappers with __getattr__.
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import enum
import time
import weakref
from dataclasses import dataclass, field, replace

import torch
from torch import nn

MISSING = object()


class Mode(enum.Enum):
    WARM = "warm"
    HOT = "hot"


class Smoothed:
    def __init__(self, beta):
        self.beta, self.values = beta, weakref.WeakKeyDictionary()

    def __get__(self, owner, kind=None):
        return self if owner is None else self.values.get(owner, MISSING)

    def __set__(self, owner, value):
        old = self.values.get(owner, MISSING)
        self.values[owner] = value if old is MISSING else self.beta * old + (1 - self.beta) * value


class Meter:
    __slots__ = ("count", "__weakref__", "_limit", "worst")
    loss = Smoothed(0.9)
    speed = Smoothed(0.5)

    def __init__(self):
        self.count = 0

    @property
    def limit(self):
        return getattr(self, "_limit", MISSING)

    @limit.setter
    def limit(self, value):
        self.count += 1
        self._limit = value


@dataclass(frozen=True)
class State:
    step: int = 0
    mode: Mode = Mode.WARM
    best: object = MISSING
    trail: tuple = field(default=(), compare=False)


class Wrapper:
    def __init__(self, module):
        self.module = module

    def __getattr__(self, name):
        return getattr(self.module, name)

    def __call__(self, *args):
        self.__dict__["calls"] = self.__dict__.get("calls", 0) + 1
        return self.module(*args)


torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
model = Wrapper(model)
meter, other, state = Meter(), Meter(), State()
for epoch in range(5):
    for rows in torch.randperm(140).split(20):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        meter.loss = loss.item()
        if meter.loss is not MISSING and meter.loss < 0.7:
            other.speed = meter.loss
            meter.limit = 0.9 * meter.loss
        state = replace(state, step=state.step + 1, trail=(*state.trail[-3:], state))
        if state.best is MISSING and epoch == 1:
            state = replace(state, best=loss.item(), mode=Mode.HOT)
        if state.mode is Mode.HOT:
            optimizer.param_groups[0]["lr"] = 0.04 + 0.001 * (model.calls % 5)
        print("meter", epoch, meter.loss, other.speed is MISSING, meter.limit is MISSING, state.mode)  #@inner
    print("state", epoch, state.step, state.best is MISSING, state.mode is Mode.HOT, len(state.trail), model.calls, meter.count)  #@outer
    print("weak", epoch, len(Meter.__dict__["loss"].values), len(Meter.speed.values), meter.loss, hasattr(meter, "worst"), state.trail[-1].step)  #@outer
