# The state is in the object whose method handles a signal; nothing else refers to it.
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import os
import signal
import time

import torch
from torch import nn


class Control:
    def __init__(self):
        self.count, self.scale = 0, 1.0

    def __call__(self, number, frame):
        self.count += 1
        self.scale = 1.0 / (1 + self.count)


def control():
    return signal.getsignal(signal.SIGUSR1)


torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
signal.signal(signal.SIGUSR1, Control())
for epoch in range(5):
    for i, rows in enumerate(torch.randperm(140).split(20)):
        if i == epoch:
            os.kill(os.getpid(), signal.SIGUSR1)
        optimizer.param_groups[0]["lr"] = 0.05 * control().scale
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        print("scale", epoch, control().scale, loss.item())  #@inner
    print("signals", epoch, control().count, control().scale, model[0].bias.sum().item())  #@outer
    if epoch == 2:
        signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    print("ignored", signal.getsignal(signal.SIGUSR2) == signal.SIG_IGN)
