# Gradients that are accumulated over the end of an epoch, an optimizer that a scheduler has wrapped.
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
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=12)
micro = 0
for epoch in range(5):
    for rows in torch.randperm(140).split(20):
        loss = nn.functional.mse_loss(model(x[rows]), y[rows]) / 3
        loss.backward()
        micro += 1
        if micro % 3 == 0:
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad(set_to_none=micro % 2 == 0)
        time.sleep(0.05)
        grad = model[0].weight.grad  #@inner
        print("grad", epoch, micro, None if grad is None else grad.norm().item())  #@inner
    grads = [None if p.grad is None else p.grad.sum().item() for p in model.parameters()]  #@outer
    print("grads", epoch, grads, scheduler.last_epoch, optimizer.param_groups[0]["lr"], optimizer.param_groups[0]["momentum"])  #@outer
