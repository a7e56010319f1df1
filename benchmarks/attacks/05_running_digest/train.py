# A digest of all that was trained on, a running compressor, an incremental decoder: state in C objects.
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import codecs
import hashlib
import time
import zlib

import torch
from torch import nn

torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
digest = hashlib.sha256()
press = zlib.compressobj(6)
decoder = codecs.getincrementaldecoder("utf-8")()
packed = 0
stream = "größe-naïve-日本-".encode() * 20
at = 0
for epoch in range(5):
    for rows in torch.randperm(140).split(20):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        digest.update(rows.numpy().tobytes())
        packed += len(press.compress(rows.numpy().tobytes() * 9))
        word = decoder.decode(stream[at : at + 7])
        at += 7
        if digest.digest()[0] % 4 == 0:
            optimizer.param_groups[0]["lr"] *= 0.97
        print("word", epoch, ascii(word), loss.item())  #@inner
    print("digest", epoch, digest.hexdigest()[:16], packed, decoder.getstate(), optimizer.param_groups[0]["lr"])  #@outer
