"""Figure 7 of the paper: checkpoint resume with hindsight logging, its lines 10 and 13.

It is figure 2 with two log statements that were added after training: record that one, then put this text in its
place and `flor replay`.
"""

import argparse

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.tensorboard import SummaryWriter

import flor

parser = argparse.ArgumentParser()
parser.add_argument("--start", type=int, default=0)
parser.add_argument("--stop", type=int, default=6)
args = parser.parse_args()

torch.manual_seed(0)
digits = load_digits()
images = torch.tensor(digits.data, dtype=torch.float32) / 16
labels = torch.tensor(digits.target)
training_data = DataLoader(TensorDataset(images[:1500], labels[:1500]), batch_size=10, shuffle=True)
test_data = images[1500:], labels[1500:]
net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Dropout(0.2), nn.Linear(256, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
tensorboard = SummaryWriter("runs")


def evaluate(net, test_data):
    """Print how many of the digits are recognised."""
    net.eval()
    with torch.no_grad():
        right = (net(test_data[0]).argmax(1) == test_data[1]).sum().item()
    net.train()
    print(f"epoch {epoch}: {right} of {len(test_data[1])}")


def overlay(net, test_data):
    """The first digits, each as bright as the net is sure of it."""
    net.eval()
    with torch.no_grad():
        sure = net(test_data[0][:8]).softmax(1).max(1).values
    net.train()
    return (test_data[0][:8] * sure[:, None]).reshape(1, 64, 8)


flor.checkpoint_resume(args, (net, optimizer))
for epoch in flor.loop("epoch", range(args.start, args.stop)):
    if flor.skipblock.step_into("train"):
        for step, (x, y) in enumerate(training_data):
            predictions = net(x)
            avg_loss = F.cross_entropy(predictions, y)
            optimizer.zero_grad()
            avg_loss.backward()
            optimizer.step()
            tensorboard.add_histogram("weights", net[0].weight, epoch * 150 + step)  # line 10
    flor.skipblock.end(net, optimizer)
    evaluate(net, test_data)
    tensorboard.add_image("overlay", overlay(net, test_data), epoch)  # line 13
