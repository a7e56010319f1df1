"""Fine-tuning: a backbone learns the digits 0 to 4 and is frozen, then a small head learns 5 to 9 on top of it.

What is frozen is the bulk of the model. flor keeps its bytes once, whatever the number of checkpoints.
"""

import argparse

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--pretrain-epochs", type=int, default=2)
parser.add_argument("--epochs", type=int, default=20)
parser.add_argument("--width", type=int, default=512)
args = parser.parse_args()

torch.manual_seed(0)
digits = load_digits()
images = torch.tensor(digits.data, dtype=torch.float32) / 16
labels = torch.tensor(digits.target)
low, high = labels < 5, labels >= 5

backbone = nn.Sequential(
    nn.Linear(64, args.width), nn.ReLU(), nn.Linear(args.width, args.width), nn.ReLU(),
    nn.Linear(args.width, args.width), nn.ReLU(),
)  # fmt: skip
head = nn.Sequential(nn.Dropout(0.2), nn.Linear(args.width, 5))


def epoch_of(loader, model, optimizer):
    """One epoch; the last loss."""
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    return loss.item()


first = nn.Sequential(backbone, nn.Linear(args.width, 5))
optimizer = torch.optim.Adam(first.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(images[low], labels[low]), batch_size=20, shuffle=True)
for epoch in range(args.pretrain_epochs):
    print(f"pretraining {epoch}: loss {epoch_of(loader, first, optimizer):.4f}")

backbone.requires_grad_(False)
model = nn.Sequential(backbone, head)
optimizer = torch.optim.SGD(head.parameters(), lr=0.002, momentum=0.9)
loader = DataLoader(TensorDataset(images[high], labels[high] - 5), batch_size=20, shuffle=True)
for epoch in range(args.epochs):
    model.train()
    loss = epoch_of(loader, model, optimizer)
    model.eval()
    with torch.no_grad():
        right = (model(images[high]).argmax(1) == labels[high] - 5).float().mean().item()
    print(f"epoch {epoch}: loss {loss:.4f}, accuracy {right:.4f}")

# Now ask the past. Below `model.eval()` add: print("head", epoch, head[1].weight.norm(dim=1).tolist())
# and run: flor replay
