# Modes of libraries that are switched in the inner loop: default dtype, print options, error calls, decimal.
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import decimal
import time

import numpy as np
import pandas as pd
import torch
from torch import nn


class Errors:
    def __init__(self):
        self.kinds = []

    def __call__(self, kind, flag):
        self.kinds.append((kind, flag))


torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
np.seterrcall(Errors())
budget = decimal.Decimal(1)
step = 0
for epoch in range(5):
    for rows in torch.randperm(140).split(20):
        step += 1
        if step == 9:
            torch.set_default_dtype(torch.float64)
        if step == 12:
            torch.set_printoptions(precision=3, sci_mode=False)
            np.set_printoptions(precision=2, suppress=True)
            np.seterr(all="call")
        if step == 16:
            decimal.getcontext().prec = 9
            pd.set_option("display.precision", 3)
        if step == 24:
            torch.set_default_dtype(torch.float32)
            decimal.getcontext().rounding = decimal.ROUND_DOWN
        budget = budget * decimal.Decimal("0.9713")
        extra = torch.rand(()) * float(budget)
        np.log(np.zeros(1)) if step > 12 and step % 5 == 0 else None
        optimizer.param_groups[0]["lr"] = 0.02 + 0.02 * extra.item()
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        print("extra", epoch, extra.dtype, budget, loss.item())  #@inner
    mean = model[0].weight.detach().mean(1)[:3]  #@outer
    print("modes", epoch, mean.numpy(), torch.get_default_dtype(), budget / 3, len(np.geterrcall().kinds))  #@outer
    print("frame", epoch, pd.Series(mean.numpy()).to_string().split()[-1], np.geterr()["divide"], torch.ones(1) / 3)  #@outer
