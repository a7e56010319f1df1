# Parameters as views of one flat buffer, a transposed running matrix, a numpy window on a weight.
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import time

import numpy as np
import torch
from torch import nn

torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
flat = torch.cat([p.detach().flatten() for p in model.parameters()]).clone()
at = 0
for p in model.parameters():
    p.data = flat[at : at + p.numel()].view_as(p)
    at += p.numel()
window = model[0].weight.detach().numpy()[::3, 1:4]
moments = torch.zeros(24, 37).t()
spread = torch.zeros(1, 1).expand(5, 9)
image = torch.zeros(2, 3, 8, 8).contiguous(memory_format=torch.channels_last)
for epoch in range(5):
    for i, rows in enumerate(torch.randperm(140).split(20)):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        flat.mul_(0.999)
        noise = torch.randn(24, 37)
        moments = 0.9 * moments + 0.1 * noise.t()
        image = (image * 0.9 + torch.randn(2, 3, 8, 8)).contiguous(memory_format=torch.channels_last)
        if i == 4:
            spread = torch.full((1, 1), loss.item()).expand(5, 9)
            window *= np.float32(0.98)
        if moments.sum().item() > 0:
            optimizer.param_groups[0]["lr"] = 0.03 + abs(moments.double().mean().item()) / 10
        print("flat", epoch, flat.sum().item(), moments.stride(), float(window.sum()))  #@inner
    print("views", epoch, flat.norm().item(), moments.sum().item(), moments.stride(), spread.stride(), image.stride())  #@outer
    print("same", epoch, model[0].weight.data_ptr() == flat.data_ptr(), float(window.sum()), image.sum().item(), flat[0].item() == model[0].weight[0, 0].item())  #@outer
