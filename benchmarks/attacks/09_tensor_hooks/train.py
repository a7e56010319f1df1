# Hooks put on parameters in the middle of an epoch: rows are frozen through their gradients from then on.
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
norms = []


def freeze(rows):
    mask = torch.ones(24, 1)
    mask[rows] = 0
    return lambda grad: grad * mask


def after(param):
    norms.append(param.grad.norm().item())
    if len(norms) % 3 == 0:
        param.grad.mul_(0.5)


step = 0
for epoch in range(5):
    for rows in torch.randperm(140).split(20):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        step += 1
        if step == 10:
            handle = model[0].weight.register_hook(freeze([0, 3, 5]))
            model[2].weight.register_post_accumulate_grad_hook(after)
        if step == 30:
            handle.remove()
        print("grad", epoch, step, model[0].weight.grad[0].tolist(), len(norms))  #@inner
    print("rows", epoch, model[0].weight[0].sum().item(), model[0].weight[1].sum().item(), len(norms), sum(norms))  #@outer
