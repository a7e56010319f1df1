# Changes into outputs/<date>/<time>, as hydra does, writes there by relative names and reads its log again.
#
# volatile: \d{4}-\d\d-\d\d/\d\d-\d\d-\d\d-\d+
# volatile-files: outputs/*
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import json
import os
import time
from datetime import datetime
from pathlib import Path

import torch
from torch import nn

origin = Path.cwd()
out = Path("outputs") / datetime.now().strftime("%Y-%m-%d/%H-%M-%S-%f")
out.mkdir(parents=True)
os.chdir(out)
torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(5):
    for rows in torch.randperm(140).split(20):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        with open("log.jsonl", "a") as file:
            print(json.dumps({"epoch": epoch, "loss": loss.item(), "t": time.time()}), file=file)
        print("lines", epoch, sum(1 for _ in open("log.jsonl")), loss.item())  #@inner
    log = [json.loads(line) for line in open("log.jsonl")]
    stamps = [entry["t"] for entry in log]
    if len(log) >= 14 and log[-1]["loss"] > log[-8]["loss"]:
        optimizer.param_groups[0]["lr"] *= 0.8
    assert stamps == sorted(stamps)
    with (origin / "latest.txt").open("w") as file:
        file.write(f"{epoch} {len(log)}")
    print("log", epoch, len(log), stamps[-1] - stamps[0] < 60, str(Path.cwd().relative_to(origin)) == str(out), optimizer.param_groups[0]["lr"])  #@outer
    print("in", out)
