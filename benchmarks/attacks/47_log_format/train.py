# Log lines on stdout with time, process, milliseconds since the start, function and line, from a helper.
#
# volatile: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+
# volatile: \[\d+:\d+\]
# volatile: \+\d+\.?\d*ms
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import inspect
import logging
import sys
import time

import torch
from torch import nn

logging.basicConfig(
    stream=sys.stdout,
    level=logging.INFO,
    format="%(asctime)s [%(process)d:%(thread)d] +%(relativeCreated)dms %(name)s.%(funcName)s:%(lineno)d %(levelname)s %(message)s",
)
log = logging.getLogger("train")
pending = []


class Adapter(logging.LoggerAdapter):
    def process(self, message, kwargs):
        self.extra["n"] += 1
        return f"#{self.extra['n']} {message}", kwargs


adapter = Adapter(log, {"n": 0})


def report(kind, value):
    frame = inspect.currentframe().f_back
    pending.append((kind, frame.f_code.co_name, len(inspect.stack()) < 12))
    log.info("%s %.6f", kind, value)


def train_step(model, optimizer, rows):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x[rows]), y[rows])
    loss.backward()
    optimizer.step()
    time.sleep(0.05)
    report("loss", loss.item())
    if adapter.extra["n"] % 4 == 3:
        optimizer.param_groups[0]["lr"] *= 0.95
    adapter.debug("hidden") if loss.item() > 0.4 else adapter.warning("low")
    return loss


torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(5):
    for rows in torch.randperm(140).split(20):
        loss = train_step(model, optimizer, rows)
        print("extra", epoch, adapter.extra, loss.item())  #@inner
    print("pending", epoch, len(pending), pending[-1], adapter.extra["n"], optimizer.param_groups[0]["lr"])  #@outer
