# Hooks on all modules and all optimizers: their state is reached by torch's own tables only.
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import time

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook
from torch.optim.optimizer import register_optimizer_step_post_hook


def install():
    calls = {"forward": 0, "linear": 0.0, "steps": 0}

    def on_forward(module, args, output):
        calls["forward"] += 1
        if isinstance(module, nn.Linear):
            calls["linear"] += output.mean().item()

    def on_step(optimizer, args, kwargs):
        calls["steps"] += 1
        if calls["linear"] > 0:
            optimizer.param_groups[0]["lr"] = 0.03 + 0.001 * (calls["forward"] % 7)

    register_module_forward_hook(on_forward)
    register_optimizer_step_post_hook(on_step)
    torch.calls_report = lambda: dict(calls)


torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
install()
for epoch in range(5):
    for rows in torch.randperm(140).split(20):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        print("lr", epoch, optimizer.param_groups[0]["lr"], loss.item())  #@inner
    print("calls", epoch, torch.calls_report(), optimizer.param_groups[0]["lr"])  #@outer
