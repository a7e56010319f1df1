# State in modules: one that is made at run time, one that is reloaded, one whose function is replaced.
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import importlib
import sys
import time
import types

import settings
import torch
import torch.nn.functional as F
from torch import nn

plain_tanh = F.tanhshrink


def spying(h):
    spying.calls += 1
    return plain_tanh(h) * settings.GAIN


spying.calls = 0
F.tanhshrink = spying
plugin = types.ModuleType("plugin")
exec("count = 0\ndef bump(by=1):\n    global count\n    count += by\n    return count\n", plugin.__dict__)
sys.modules["plugin"] = plugin
del plugin
torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
a, b = nn.Linear(6, 24), nn.Linear(24, 1)
optimizer = torch.optim.SGD([*a.parameters(), *b.parameters()], lr=0.05, momentum=0.9)
for epoch in range(5):
    for i, rows in enumerate(torch.randperm(140).split(20)):
        from plugin import bump

        if bump() % 6 == 0:
            settings.GAIN *= 1.02
            sys.modules["plugin"].bump.__defaults__ = (2,)
        if epoch == 2 and i == 4:
            importlib.reload(settings)
            settings.EXTRA = spying.calls
        loss = F.mse_loss(b(F.tanhshrink(a(x[rows]))), y[rows]) + settings.penalty(a.weight)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        print("gain", epoch, settings.GAIN, settings.HISTORY[-1], loss.item())  #@inner
    print("plugin", epoch, sys.modules["plugin"].count, spying.calls, settings.GAIN, len(settings.HISTORY), getattr(settings, "EXTRA", None))  #@outer
    print("bump", epoch, bump.__defaults__, settings.LOADS, F.tanhshrink is spying, bump is sys.modules["plugin"].bump)  #@outer
