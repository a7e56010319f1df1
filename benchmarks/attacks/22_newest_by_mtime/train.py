# Rolls back to the newest of its checkpoints when the loss rises; newest is by modification time.
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import glob
import os
import time

import torch
from torch import nn

os.makedirs("ckpt")
torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
optimizer.param_groups[0]["lr"] = 0.15
rolled, previous = 0, 9.0
for epoch in range(5):
    for i, rows in enumerate(torch.randperm(140).split(20)):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        if i in (1, 4):
            name = f"ckpt/{'abcdefghij'[(epoch * 3 + i * 7) % 10]}.pt"
            torch.save({"model": model.state_dict(), "epoch": epoch, "i": i}, name)
        if loss.item() > previous + 0.02 and glob.glob("ckpt/*.pt"):
            newest = max(glob.glob("ckpt/*.pt"), key=os.path.getmtime)
            model.load_state_dict(torch.load(newest)["model"])
            rolled += 1
        previous = loss.item()
        print("files", epoch, len(os.listdir("ckpt")), rolled, loss.item())  #@inner
    names = sorted(glob.glob("ckpt/*.pt"), key=os.path.getmtime)  #@outer
    print("newest", epoch, names, torch.load(names[-1])["i"], rolled)  #@outer
