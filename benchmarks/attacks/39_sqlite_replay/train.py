# A replay buffer in a database in memory: inserted in the inner loop, sampled by SQL, a cursor that stays open.
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import random
import sqlite3
import time

import torch
from torch import nn

torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
rng = random.Random(2)
db = sqlite3.connect(":memory:")
db.create_function("draw", 0, rng.random)
db.execute("create table memory (row integer primary key, seen integer, error real)")
db.executemany("insert into memory values (?, 0, 1.0)", [(i,) for i in range(140)])
walk = db.execute("select row from memory order by (row * 37) % 140")
for epoch in range(5):
    for step in range(7):
        hard = [row for (row,) in db.execute("select row from memory order by error * draw() desc limit 16")]
        rows = hard + [row for (row,) in walk.fetchmany(3)]
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        with torch.no_grad():
            errors = (model(x[rows]) - y[rows]).abs().flatten().tolist()
        db.executemany("update memory set seen = seen + 1, error = ? where row = ?", list(zip(errors, rows)))
        print("rows", epoch, rows[:4], rows[-1], db.total_changes, loss.item())  #@inner
    if epoch % 2:
        db.commit()
    print("memory", epoch, db.execute("select max(seen), sum(error) from memory").fetchone(), db.in_transaction, db.total_changes)  #@outer
