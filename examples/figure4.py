"""Figure 4 of the paper: the main loop in a generator, divided among processes.

python figure4.py                                                       records a run
FLOR_REPLAY=latest PID=1 NPARTS=3 python figure4.py                     replays the second third of it
for p in 0 1 2; do FLOR_REPLAY=latest PID=$p NPARTS=3 python figure4.py; done
"""

import os

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import flor

PID, NPARTS = int(os.environ.get("PID", 0)), int(os.environ.get("NPARTS", 1))
N = flor.arg("epochs", 6)  # python figure4.py --kwargs epochs=10

torch.manual_seed(0)
digits = load_digits()
images = torch.tensor(digits.data, dtype=torch.float32) / 16
labels = torch.tensor(digits.target)
training_data = DataLoader(TensorDataset(images[:1500], labels[:1500]), batch_size=10, shuffle=True)
test_data = images[1500:], labels[1500:]
net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Dropout(0.2), nn.Linear(256, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
lr_scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.8)


def evaluate(net, test_data):
    """Print how many of the digits are recognised."""
    net.eval()
    with torch.no_grad():
        right = (net(test_data[0]).argmax(1) == test_data[1]).sum().item()
    net.train()
    print(f"epoch {epoch}: {right} of {len(test_data[1])}")


for epoch in flor.generator(range(N), PID, NPARTS):
    if flor.skipblock.step_into("train"):
        for x, y in training_data:
            predictions = net(x)
            avg_loss = F.cross_entropy(predictions, y)
            optimizer.zero_grad()
            avg_loss.backward()
            optimizer.step()
    flor.skipblock.end(net, optimizer)
    lr_scheduler.step()
    evaluate(net, test_data)
