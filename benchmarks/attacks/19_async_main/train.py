# Training in a coroutine: the batches come from an async generator through an asyncio.Queue.
#
# run: train.py
# expect: outer exact; inner exact
import asyncio
import random
import time

import torch
from torch import nn


async def feed(queue, n):
    rng = random.Random(4)
    for _ in range(n):
        await queue.put([rng.randrange(140) for _ in range(20)])


async def take(queue, n):
    for _ in range(n):
        yield await queue.get()


async def main():
    torch.manual_seed(7)
    x = torch.randn(140, 6)
    y = x.sum(1, keepdim=True).sin()
    model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    queue = asyncio.Queue(3)
    feeder = asyncio.create_task(feed(queue, 35))
    lock, turns = asyncio.Lock(), 0
    for epoch in range(5):
        async for rows in take(queue, 7):
            async with lock:
                turns += 1
                optimizer.zero_grad()
                loss = nn.functional.mse_loss(model(x[rows]), y[rows])
                loss.backward()
                optimizer.step()
            await asyncio.sleep(0.05)
            print("rows", epoch, rows[:3], loss.item())  #@inner
        print("turns", epoch, turns, queue.qsize() <= 3, model[0].weight.sum().item())  #@outer
        await asyncio.sleep(0)
    await feeder
    print(f"done {turns} {loss.item():.6f}")


asyncio.run(main())
