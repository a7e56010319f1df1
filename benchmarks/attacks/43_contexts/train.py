# Values in context variables, thread locals, exit stacks and context managers that are open all the while.
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import contextlib
import contextvars
import threading
import time

import torch
from torch import nn

depth = contextvars.ContextVar("depth", default=0)
local = threading.local()
local.skipped = 0


@contextlib.contextmanager
def counting(box):
    inside = 0
    box["add"] = lambda n: box.__setitem__("inside", box.get("inside", 0) + n)
    try:
        yield box
        inside += 1
    finally:
        print("inside", box["inside"], inside)


class Scope:
    stack = []

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        Scope.stack.append(self.name)
        return self

    def __exit__(self, *exc):
        Scope.stack.remove(self.name)


torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
ends = []
with counting({}) as box, contextlib.ExitStack() as cleanup:
    for epoch in range(5):
        for i, rows in enumerate(torch.randperm(140).split(20)):
            with Scope(f"step{i}"), torch.random.fork_rng(enabled=i % 2 == 0):
                noise = torch.randn(6) * 0.1
                optimizer.zero_grad()
                loss = nn.functional.mse_loss(model(x[rows] + noise), y[rows])
                loss.backward()
                optimizer.step()
            time.sleep(0.05)
            box["add"](i)
            depth.set(depth.get() + 1)
            if loss.item() > 0.3:
                local.skipped += 1
            if i == epoch:
                cleanup.enter_context(Scope(f"epoch{epoch}"))
                cleanup.callback(ends.append, epoch)
            optimizer.param_groups[0]["lr"] = 0.05 / (1 + 0.02 * depth.get()) / (1 + 0.01 * local.skipped)
            print("depth", epoch, depth.get(), local.skipped, loss.item())  #@inner
        print("scopes", epoch, Scope.stack, box["inside"], depth.get(), local.skipped, contextvars.copy_context()[depth])  #@outer
print("ends", ends, Scope.stack, f"{loss.item():.6f}")
