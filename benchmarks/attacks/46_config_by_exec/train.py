# Configuration by exec into globals, a dict made of globals(), times and rates in each line, a limit on time.
#
# run: train.py --rate=0.06 config.txt
# volatile: time \d+\.\d+ms
# volatile: \d{8}_\d{6}
# volatile-files: out-*
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import os
import sys
import time

import torch
from torch import nn

rate, momentum, epochs, out_dir, max_minutes = 0.05, 0.9, 5, "out-" + time.strftime("%Y%m%d_%H%M%S"), 2
config_keys = [k for k, v in globals().items() if not k.startswith("_") and isinstance(v, (int, float, bool, str))]
for arg in sys.argv[1:]:
    if arg.startswith("--"):
        key, value = arg[2:].split("=")
        globals()[key] = type(globals()[key])(value)
    else:
        exec(open(arg).read())
config = {k: globals()[k] for k in config_keys}
print({k: v for k, v in config.items()}, len(config_keys))
os.makedirs(out_dir, exist_ok=False)
torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=momentum)
t0 = begin = time.time()
running, iteration, best = -1.0, 0, 1e9
for epoch in range(epochs):
    for rows in torch.randperm(140).split(batch):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        t1 = time.time()
        dt, t0 = t1 - t0, t1
        iteration += 1
        if iteration > 5:
            running = dt if running < 0 else 0.9 * running + 0.1 * dt
        if iteration % 5 == 0:
            print(f"iter {iteration}: loss {loss.item():.4f}, time {dt * 1000:.2f}ms")
        exec(f"rate = rate * {0.99 if 0 < dt < 5 else 0.5}")
        optimizer.param_groups[0]["lr"] = rate
        print("rate", epoch, rate, config["rate"], loss.item())  #@inner
    if loss.item() < best:
        best = loss.item()
        torch.save({"config": config, "iteration": iteration, "best": best}, os.path.join(out_dir, "ckpt.pt"))
    print("running", epoch, 0.03 < running < 5, sorted(set(globals()) & {"batch", "warm", "rate", "dt"}), torch.load(os.path.join(out_dir, "ckpt.pt"))["iteration"], rate)  #@outer
    if not 0 <= time.time() - begin < max_minutes * 60:
        break
