# Clocks of libraries against the script's own: tqdm's start, a log record's time, a file's, a stat's.
#
# volatile: \d+\.\d+ ?s\b
# volatile-files: *.touch
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import logging
import os
import time

import torch
from torch import nn
from tqdm import tqdm

created = []


class Keep(logging.Handler):
    def emit(self, record):
        created.append(record.created)


log = logging.getLogger("steps")
log.addHandler(Keep())
log.propagate = False
torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
bar = tqdm(total=35, file=open(os.devnull, "w"))
odd = 0
for epoch in range(5):
    with open("beat.touch", "w") as file:
        file.write("x")
    for rows in torch.randperm(140).split(20):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        bar.update()
        bar.set_postfix(loss=f"{loss.item():.3f}")
        log.warning("step")
        now = time.time()
        if not (-1 < now - bar.start_t < 40 and -1 < now - created[-1] < 5 and -1 < now - os.path.getmtime("beat.touch") < 15):
            odd += 1
            optimizer.param_groups[0]["lr"] *= 0.9
        print("bar", epoch, bar.n, odd, bar.postfix, loss.item())  #@inner
    print(f"epoch {epoch} took {now - created[-7]:.2f} s")
    print("odd", epoch, odd, bar.n, len(created), created == sorted(created), optimizer.param_groups[0]["lr"])  #@outer
bar.close()
