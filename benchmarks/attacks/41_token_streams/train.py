# Streams of tokens that are read on from step to step: a regex scanner, csv over lines, chained loaders, tee.
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import csv
import io
import itertools
import re
import time

import torch
from torch import nn
from torch.utils.data import DataLoader

torch.manual_seed(7)
text = "".join(f"a{i}+b{i * 7 % 13}*c{i % 5} " for i in range(200))
scan = re.compile(r"([abc])(\d+)\W+").scanner(text)
table = csv.reader(io.StringIO("\n".join(f"{i},{i * i % 17}" for i in range(120))))
found = re.finditer(r"b(\d+)", text)
model = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loader = DataLoader(range(50), batch_size=4, shuffle=True)
stream = itertools.chain.from_iterable(itertools.repeat(loader))
ahead, behind = itertools.tee(itertools.cycle([0.1, 0.4, 0.2, 0.9, 0.3]))
next(ahead)
for epoch in range(5):
    for batch in itertools.islice(stream, 7):
        letter, number = scan.match().groups()
        first, second = next(table)
        token = float(next(found)[1])
        inputs = torch.tensor([[int(number) / 50, int(second) / 17, token / 13]]) + batch[:, None] / 50
        loss = (model(inputs) - next(ahead) + next(behind)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        print("token", epoch, letter, number, first, batch.tolist(), loss.item())  #@inner
    print("streams", epoch, table.line_num, letter + number, token, batch.tolist(), loss.item())  #@outer
