# The environment lives in a child process, spoken to through a pipe (as vectorised environments do).
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import multiprocessing as mp
import random
import time

import torch
from torch import nn


def serve(pipe, seed):
    rng, position, episode = random.Random(seed), 0.0, 0
    while True:
        command, action = pipe.recv()
        if command == "close":
            break
        if command == "reset":
            position, episode = rng.uniform(-1, 1), episode + 1
        else:
            position += action + rng.gauss(0, 0.1)
        pipe.send((position, -abs(position), episode))


def main():
    torch.manual_seed(7)
    here, there = mp.get_context("fork").Pipe()
    child = mp.get_context("fork").Process(target=serve, args=(there, 3), daemon=True)
    child.start()
    policy = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.02)
    for epoch in range(5):
        here.send(("reset", None) if epoch % 2 == 0 else ("step", 0.0))
        state, reward, episode = here.recv()
        for step in range(7):
            mean = policy(torch.tensor([[state]])).squeeze()
            here.send(("step", mean.item()))
            state, reward, episode = here.recv()
            loss = (mean + state) ** 2
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            time.sleep(0.05)
            print("state", epoch, state, reward)  #@inner
        print("episode", epoch, episode, state, policy[0].weight.sum().item())  #@outer
    here.send(("close", None))
    child.join()
    print(f"at the end {state:.6f}")


if __name__ == "__main__":
    main()
