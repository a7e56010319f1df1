# Works in a TemporaryDirectory, whose name is random and which is gone when the run is over.
#
# volatile: /\S*scratch_\w+
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import json
import os
import tempfile
import time

import torch
from torch import nn

torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
with tempfile.TemporaryDirectory(prefix="scratch_") as folder:
    print("in", folder)
    index = os.path.join(folder, "index.json")
    for epoch in range(5):
        for i, rows in enumerate(torch.randperm(140).split(20)):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x[rows]), y[rows])
            loss.backward()
            optimizer.step()
            time.sleep(0.05)
            hard = rows[((model(x[rows]) - y[rows]).abs() > 0.5).flatten()]
            torch.save(hard, os.path.join(folder, f"hard{i}.pt"))
            entries = json.load(open(index)) if os.path.exists(index) else []
            with open(index, "w") as file:
                json.dump([*entries, len(hard)], file)
            print("hard", epoch, len(hard), len(entries), loss.item())  #@inner
        again = torch.cat([torch.load(os.path.join(folder, f"hard{k}.pt")) for k in range(7)])
        if len(again):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x[again]), y[again]).backward()
            optimizer.step()
        print("folder", epoch, sorted(os.listdir(folder)), json.load(open(index))[-3:], folder, len(again))  #@outer
print("gone", not os.path.exists(folder))
