# One thread fills a queue for the whole run, ahead of training, with a generator of its own.
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import queue
import threading
import time

import torch
from torch import nn

torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
batches = queue.Queue(maxsize=4)
made = []


def produce():
    generator = torch.Generator().manual_seed(3)
    for number in range(35):
        rows = torch.randint(0, 140, (20,), generator=generator)
        made.append(number)
        batches.put((number, rows))
    batches.put(None)


thread = threading.Thread(target=produce, daemon=True)
thread.start()
used = []
for epoch in range(5):
    for _ in range(7):
        number, rows = batches.get()
        used.append(number)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        print("batch", epoch, number, rows[:3].tolist(), loss.item())  #@inner
    print("used", epoch, len(used), used[-1], loss.item())  #@outer
assert batches.get() is None
thread.join()
print("made", len(made), f"{loss.item():.6f}")
