# Resumes if there is a checkpoint, and numbers its folder by those that are there: a replay finds both.
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

run_dir = f"runs/exp{len(glob.glob('runs/exp*'))}"
os.makedirs(run_dir)
print("into", run_dir)
torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
first = 0
if os.path.exists("last.pt"):
    state = torch.load("last.pt")
    model.load_state_dict(state["model"])
    first = state["epoch"] + 1
    print("resumed at", first)
for epoch in range(first, 5):
    for rows in torch.randperm(140).split(20):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        print("loss", epoch, loss.item())  #@inner
    torch.save({"model": model.state_dict(), "epoch": epoch}, "last.pt")
    torch.save(model.state_dict(), f"{run_dir}/{epoch}.pt")
    for old in sorted(glob.glob(f"{run_dir}/*.pt"))[:-2]:
        os.remove(old)
    print("files", epoch, run_dir, sorted(os.listdir(run_dir)), torch.load("last.pt")["epoch"])  #@outer
print(f"end {loss.item():.6f}")
