# Warnings that are shown once: what was shown already is remembered by warnings and by the module.
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import time
import warnings

import torch
from torch import nn

shown = []


def show(message, category, filename, lineno, file=None, line=None):
    shown.append((category.__name__, str(message)))


def check(loss):
    if loss < 0.5:
        warnings.warn("loss under a half", UserWarning)
    warnings.warn(f"loss is about {round(loss, 1)}", RuntimeWarning)


torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
warnings.showwarning = show
warnings.filterwarnings("default", category=UserWarning)
warnings.filterwarnings("once", category=RuntimeWarning)
for epoch in range(5):
    for i, rows in enumerate(torch.randperm(140).split(20)):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        check(loss.item())
        if epoch == 2 and i == 2:
            warnings.filterwarnings("always", category=UserWarning)
        optimizer.param_groups[0]["lr"] = 0.05 / (1 + 0.1 * len(shown))
        print("shown", epoch, len(shown), loss.item())  #@inner
    print("warned", epoch, len(shown), shown[-1], len(warnings.filters) > 3, optimizer.param_groups[0]["lr"])  #@outer
