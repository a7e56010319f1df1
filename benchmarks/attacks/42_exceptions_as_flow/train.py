# The inner loop ends by an exception, errors are kept; the probes stand in except, else and finally.
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import time

import torch
from torch import nn


class Plateau(Exception):
    pass


def guard(losses, state={"tries": 0}):
    state["tries"] += 1
    if len(losses) > 4 and losses[-1] > losses[-2] > losses[-3]:
        raise Plateau(state["tries"], losses[-1])
    if state["tries"] % 11 == 0:
        raise ValueError(f"odd {state['tries']}")


torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
optimizer.param_groups[0]["lr"] = 0.2
errors, losses, clean = [], [], 0
for epoch in range(5):
    try:
        for rows in torch.randperm(140).split(20):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x[rows]), y[rows])
            loss.backward()
            optimizer.step()
            time.sleep(0.05)
            losses.append(loss.item())
            try:
                guard(losses)
            except ValueError as error:
                errors.append(error)
                optimizer.param_groups[0]["lr"] *= 0.7
                print("odd", epoch, error, len(errors), guard.__defaults__[0])  #@inner
            finally:
                checked = len(losses)
                print("tries", epoch, guard.__defaults__[0]["tries"], loss.item())  #@inner
    except Plateau as error:
        errors.append(error)
        optimizer.param_groups[0]["momentum"] = max(0.0, optimizer.param_groups[0]["momentum"] - 0.2)
        print("plateau", epoch, error.args, len(losses))  #@outer
    else:
        clean += 1
        print("clean", epoch, clean, guard.__defaults__[0]["tries"])  #@outer
    finally:
        finished = epoch
        print("errors", epoch, [repr(e) for e in errors[-2:]], errors and errors[-1].__traceback__ is not None)  #@outer
