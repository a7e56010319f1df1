# Counters and weights in memory that is shared with children: mp.Value, a shared tensor, a ctypes array.
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import ctypes
import time

import numpy as np
import torch
import torch.multiprocessing as mp
from multiprocessing import sharedctypes
from torch import nn


def judge(scores, calls, epoch):
    with calls.get_lock():
        calls.value += epoch + 1
    scores[epoch] = scores[:epoch].sum() + epoch * 0.25


def main():
    torch.manual_seed(7)
    x = torch.randn(140, 6)
    y = x.sum(1, keepdim=True).sin()
    model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    fork = mp.get_context("fork")
    scores = torch.zeros(5).share_memory_()
    calls = fork.Value("i", 0)
    raw = sharedctypes.RawArray(ctypes.c_double, 4)
    view = np.frombuffer(raw)
    buffer = bytearray(16)
    window = torch.frombuffer(buffer, dtype=torch.float32)
    for epoch in range(5):
        for i, rows in enumerate(torch.randperm(140).split(20)):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x[rows]), y[rows])
            loss.backward()
            optimizer.step()
            time.sleep(0.05)
            view[i % 4] += loss.item()
            window[i % 4] = loss.detach()
            if raw[1] > 0.8:
                optimizer.param_groups[0]["lr"] = 0.05 / (1 + raw[1]) + 0.001 * buffer[3] / 255
            if i == 3:
                child = fork.Process(target=judge, args=(scores, calls, epoch))
                child.start()
                child.join()
            print("raw", epoch, raw[i % 4], calls.value, bytes(buffer[:4]).hex())  #@inner
        if calls.value > 5:
            optimizer.param_groups[0]["momentum"] = 0.9 - scores[epoch].item() / 20
        print("shared", epoch, scores.tolist(), calls.value, list(raw)[:2], bytes(buffer).hex(), scores.is_shared())  #@outer
    print(f"end {loss.item():.6f} {calls.value}")


if __name__ == "__main__":
    main()
