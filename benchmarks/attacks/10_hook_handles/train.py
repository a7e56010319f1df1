# Forward hooks that are put on in one epoch's inner loop and taken off by their handles in another's.
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
handles, features = [], {}


def tap(name, scale):
    def hook(module, args, output):
        features.setdefault(name, []).append(output.detach().mean().item())
        return output * scale

    return hook


step = 0
for epoch in range(5):
    for rows in torch.randperm(140).split(20):
        if step in (4, 9, 12):
            handles.append(model[step % 3].register_forward_hook(tap(f"tap{step}", 1.0 + step / 100)))
        if step in (22, 30):
            handles.pop(0).remove()
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        step += 1
        print("taps", epoch, [len(m._forward_hooks) for m in model], loss.item())  #@inner
    print("features", epoch, {k: (len(v), v[-1]) for k, v in features.items()}, len(handles))  #@outer
