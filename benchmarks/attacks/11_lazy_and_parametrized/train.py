# A lazy layer gets its class in the first step; a parametrization is put on and taken off in later ones.
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import time

import torch
from torch import nn
from torch.nn.utils import parametrize
from torch.nn.utils.parametrizations import spectral_norm


class Symmetric(nn.Module):
    def forward(self, w):
        return w.triu() + w.triu(1).transpose(-1, -2)


torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.LazyLinear(16), nn.Tanh(), nn.Linear(16, 16), nn.LazyBatchNorm1d(), nn.Tanh(), nn.LazyLinear(1))
optimizer = None
step = 0
for epoch in range(5):
    for rows in torch.randperm(140).split(20):
        out = model(x[rows])
        if optimizer is None:
            optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        loss = nn.functional.mse_loss(out, y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        step += 1
        if step == 9:
            parametrize.register_parametrization(model[2], "weight", Symmetric())
        if step == 17:
            spectral_norm(model[0])
        if step == 26:
            parametrize.remove_parametrizations(model[2], "weight")
            optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        print("layer", epoch, type(model[2]).__name__, loss.item())  #@inner
    print(  #@outer
        f"types {epoch}",  #@outer
        [type(m).__name__ for m in model],  #@outer
        parametrize.is_parametrized(model[0]),  #@outer
        [tuple(p.shape) for p in model.parameters()],  #@outer
        sum(p.sum().item() for p in model.parameters()),  #@outer
    )  #@outer
