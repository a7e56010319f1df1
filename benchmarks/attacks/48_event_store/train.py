# Events with ids and times made by default factories, one file each, named by them; training reads them again.
#
# volatile: [0-9a-f]{32}
# volatile-files: events/*
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import json
import os
import time
import uuid
from dataclasses import asdict, dataclass, field
from datetime import datetime

import torch
from torch import nn

os.makedirs("events")


@dataclass
class Event:
    loss: float
    rows: list
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    at: float = field(default_factory=time.time)
    day: str = field(default_factory=lambda: datetime.now().isoformat())

    @property
    def path(self):
        return f"events/{self.at:.6f}-{self.id}.json"

    def save(self):
        with open(self.path, "w") as file:
            json.dump(asdict(self), file)
        return self


torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
by_id, session = {}, uuid.uuid4()
for epoch in range(5):
    for rows in torch.randperm(140).split(20):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        event = Event(loss.item(), rows[:4].tolist()).save()
        by_id[event.id] = event
        print("events", epoch, len(by_id), len(os.listdir("events")), json.load(open(event.path))["loss"])  #@inner
    files = sorted(os.listdir("events"))
    stored = [json.load(open(f"events/{name}")) for name in files]
    worst = max(stored, key=lambda e: e["loss"])
    again = by_id[worst["id"]].rows
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x[again]), y[again]).backward()
    optimizer.step()
    print("session", session.hex)
    print("stored", epoch, len(stored), [e["id"] for e in stored] == list(by_id), again, worst["loss"], model[0].bias.sum().item())  #@outer
    print("times", epoch, all(by_id[e["id"]].at == e["at"] for e in stored), session.hex, os.path.exists(event.path))  #@outer
    if epoch == 2:
        for name in files[:10]:
            os.remove(f"events/{name}")
            del by_id[name.split("-")[1][:-5]]
