# Loader workers that live as long as the run, each with a dataset that remembers what it gave.
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Remembering(Dataset):
    def __init__(self):
        self.times = {}
        self.noise = torch.Generator().manual_seed(1)

    def __len__(self):
        return 84

    def __getitem__(self, i):
        self.times[i % 10] = self.times.get(i % 10, 0) + 1
        return torch.randn(6, generator=self.noise) * self.times[i % 10] / 10, self.times[i % 10]


def main():
    torch.manual_seed(7)
    data = Remembering()
    loader = DataLoader(data, batch_size=12, shuffle=True, num_workers=1, persistent_workers=True)
    model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    most = 0
    for epoch in range(5):
        for batch, times in loader:
            loss = (model(batch) - batch.sum(1, keepdim=True)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            most = max(most, int(times.max()))
            time.sleep(0.05)
            print("times", epoch, times.tolist()[:5], loss.item())  #@inner
        print("most", epoch, most, len(data.times), batch.sum().item(), model[0].weight.norm().item())  #@outer


if __name__ == "__main__":
    main()
