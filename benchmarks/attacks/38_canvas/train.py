# A canvas that is drawn on through a handle that was made once; its histogram steers the rate.
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import hashlib
import io
import time

import numpy as np
import torch
from PIL import Image, ImageDraw
from torch import nn

torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
canvas = Image.new("L", (64, 64))
pen = ImageDraw.Draw(canvas)
frames, gif = [], io.BytesIO()
previous = (0, 63)
for epoch in range(5):
    for i, rows in enumerate(torch.randperm(140).split(20)):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        here = ((epoch * 7 + i) * 2 % 64, int(63 - 63 * min(1.0, loss.item())))
        pen.line([previous, here], fill=100 + 20 * i)
        previous = here
        if canvas.getpixel(here) > 150:
            optimizer.param_groups[0]["lr"] = 0.02 + np.asarray(canvas).mean() / 1000
        print("pixel", epoch, here, canvas.getpixel(here), optimizer.param_groups[0]["lr"])  #@inner
    frames.append(canvas.copy())
    if epoch == 2:
        pen.rectangle([0, 0, 20, 20], fill=255)
    gif.write(canvas.tobytes()[:100])
    print("canvas", epoch, hashlib.md5(canvas.tobytes()).hexdigest(), np.asarray(canvas).sum(), len(frames), gif.tell())  #@outer
