# Probes with state and in odd places: a class with __call__, a generator that is sent to, a hook, forward, a nested function.
#
# expect: outer exact|told; inner exact|told
#
# run: train.py
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import time

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 24), nn.Linear(24, 1)
        self.drop = nn.Dropout(0.3)
        self.passes = 0

    def forward(self, x):
        self.passes += 1

        def squash(h):
            print("squash", epoch, self.passes, h.abs().max().item())  #@inner
            return torch.tanh(h)

        return self.b(self.drop(squash(self.a(x))))


class Peak:  #@outer
    def __init__(self):  #@outer
        self.values = []  #@outer
    def __call__(self, value):  #@outer
        self.values.append(value)  #@outer
        return max(self.values), len(self.values)  #@outer
def running():  #@outer
    total, n = 0.0, 0  #@outer
    while True:  #@outer
        total, n = total + (yield total / max(n, 1)), n + 1  #@outer
peak, mean = Peak(), running()  #@outer
next(mean)  #@outer
torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


def tame(grad):
    print(f"hooked {epoch} {grad.norm().item()!r} {grad.shape}")  #@inner
    return grad.clamp(-0.5, 0.5)


model.b.weight.register_hook(tame)
for epoch in range(5):
    for rows in torch.randperm(140).split(20):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
    model.eval()
    with torch.no_grad():
        score = (model(x) - y).square().mean().item()
    model.train()
    print("peak", epoch, *peak(score), mean.send(score), [p.grad.norm().item() for p in model.parameters()])  #@outer
    print(f"score {epoch} {score:.6f} {model.passes}")
