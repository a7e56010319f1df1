# A handler and a filter of logging that keep counts; only logging holds them. Training looks at them.
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import logging
import logging.handlers
import time

import torch
from torch import nn


class Unusual(logging.Handler):
    def __init__(self):
        super().__init__(logging.WARNING)
        self.bad, self.last = 0, None

    def emit(self, record):
        self.bad += 1
        self.last = record.getMessage()


class OnlyNew(logging.Filter):
    def __init__(self):
        super().__init__()
        self.seen = set()

    def filter(self, record):
        new = record.args not in self.seen
        self.seen.add(record.args)
        return new


def setup():
    log = logging.getLogger("train")
    log.setLevel(logging.DEBUG)
    log.propagate = False
    log.addHandler(Unusual())
    log.handlers[0].addFilter(OnlyNew())
    log.addHandler(logging.handlers.MemoryHandler(1000))


setup()
torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(5):
    for rows in torch.randperm(140).split(20):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        level = logging.WARNING if loss.item() > 0.4 else logging.INFO
        logging.getLogger("train").log(level, "loss near %s", round(loss.item(), 1))
        if logging.getLogger("train").handlers[0].bad > 2:
            optimizer.param_groups[0]["lr"] = 0.04
        if epoch == 2:
            logging.getLogger("train").setLevel(logging.INFO)
        print("level", epoch, logging.getLogger("train").level, loss.item())  #@inner
    unusual, memory = logging.getLogger("train").handlers  #@outer
    print("unusual", epoch, unusual.bad, unusual.last, len(unusual.filters[0].seen), len(memory.buffer))  #@outer
