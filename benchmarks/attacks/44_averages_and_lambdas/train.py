# A LambdaLR over a dict that training changes, averaged weights, the best model by identity, a plateau scheduler.
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import copy
import time

import torch
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, get_ema_multi_avg_fn, update_bn

torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(6, 24), nn.BatchNorm1d(24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
knobs = {"boost": 1.0}
warm = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: knobs["boost"] / (1 + 0.05 * step))
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=2, factor=0.5)
average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.8), use_buffers=True)
swa = AveragedModel(model)
swa_lr = None
best, best_loss, candidates = model, 9.0, [model]
for epoch in range(5):
    for i, rows in enumerate(torch.randperm(140).split(20)):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
        average.update_parameters(model)
        knobs["boost"] = knobs["boost"] * 0.98 if loss.item() < 0.5 else knobs["boost"] + 0.01
        if swa_lr is None:
            warm.step()
        if loss.item() < best_loss:
            best_loss, best = loss.item(), copy.deepcopy(average.module)
            candidates.append(best)
        print("lr", epoch, optimizer.param_groups[0]["lr"], knobs["boost"], len(candidates))  #@inner
    plateau.step(loss.item())
    if epoch == 2:
        swa_lr = SWALR(optimizer, swa_lr=0.01, anneal_epochs=2)
    if swa_lr is not None:
        swa.update_parameters(model)
        swa_lr.step()
        update_bn([x], swa)
    print("best", epoch, best is candidates[-1], candidates[0] is model, best_loss, int(average.n_averaged), int(swa.n_averaged), plateau.num_bad_epochs, plateau.best)  #@outer
    with torch.no_grad():  #@outer
        print("average", epoch, average.module[0].weight.norm().item(), model[1].num_batches_tracked.item(), best[0].weight.sum().item())  #@outer
