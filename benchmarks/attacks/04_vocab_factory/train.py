# A vocabulary that grows while training: a defaultdict whose factory is a counter's bound __next__.
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import itertools
import time
from collections import defaultdict

import torch
from torch import nn

torch.manual_seed(7)
text = ("the cat sat on the mat and the dog ran far away from a very old tree by the long grey river while rain fell "
        "on every roof in town nobody slept well that night since wind blew hard over hills").split()
vocab = defaultdict(itertools.count(1).__next__)
tickets = iter(itertools.count().__next__, 10_000)
table = nn.Embedding(64, 8)
head = nn.Linear(8, 1)
optimizer = torch.optim.Adam([*table.parameters(), *head.parameters()], lr=0.03)
for epoch in range(5):
    for step in range(7):
        start = (epoch * 7 + step) % (len(text) - 4)
        ids = torch.tensor([vocab[word] for word in text[start : start + 4]])
        ticket = next(tickets)
        loss = (head(table(ids)).sum() - ticket % 3) ** 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        print("ids", epoch, ids.tolist(), ticket, loss.item())  #@inner
    print("vocab", epoch, len(vocab), list(vocab.items())[-2:], table.weight.sum().item())  #@outer
