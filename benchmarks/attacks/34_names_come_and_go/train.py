# Names that are deleted or first bound in the inner loop, and asked for with NameError and globals().
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import time

import torch
from torch import nn

torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
warmup = 0.2
scratch = torch.zeros(3)
for epoch in range(5):
    for i, rows in enumerate(torch.randperm(140).split(20)):
        try:
            average = 0.9 * average + 0.1 * loss.item()
        except NameError:
            average = 1.0
        if epoch == 1 and i == 3:
            del warmup, scratch
        if epoch == 2 and "ema" not in globals():
            ema = {k: v.clone() for k, v in model.state_dict().items()}
        optimizer.param_groups[0]["lr"] = 0.05 * globals().get("warmup", 1.0) * (0.5 if "ema" in globals() else 1)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        if epoch == 3 and i == 5:
            globals()["late_" + str(i)] = loss.item()
            del loss
            loss = torch.tensor(0.25)
        print("names", epoch, [n for n in ("warmup", "scratch", "ema", "late_5") if n in globals()], average)  #@inner
    print("bound", epoch, sorted(n for n in ("warmup", "scratch", "ema", "late_5", "average") if n in globals()), average)  #@outer
    del rows
