"""Digits again, as most people write it: functions, arguments, the best weights kept, an early stop."""

import argparse
import copy

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make_data(batch_size):
    """Two loaders: 1500 digits to learn from, 297 to be judged by."""
    digits = load_digits()
    images = torch.tensor(digits.data, dtype=torch.float32).reshape(-1, 1, 8, 8) / 16
    labels = torch.tensor(digits.target)
    training = TensorDataset(images[:1500], labels[:1500])
    validation = TensorDataset(images[1500:], labels[1500:])
    return DataLoader(training, batch_size, shuffle=True), DataLoader(validation, batch_size)


def make_model():
    """A small convolutional network with BatchNorm and dropout."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.3), nn.Linear(32 * 16, 10),
    )  # fmt: skip


def train(model, loader, optimizer):
    """One epoch; the mean loss."""
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def evaluate(model, loader):
    """The share of digits that are recognised."""
    model.eval()
    right = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    return right / len(loader.dataset)


def main():
    """Train until it gets no better."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--batch-size", type=int, default=25)
    parser.add_argument("--lr", type=float, default=0.002)
    parser.add_argument("--patience", type=int, default=5)
    args = parser.parse_args()

    torch.manual_seed(0)
    training, validation = make_data(args.batch_size)
    model = make_model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)
    best, best_weights, waited = 0.0, None, 0
    for epoch in range(args.epochs):
        loss = train(model, training, optimizer)
        accuracy = evaluate(model, validation)
        scheduler.step()
        print(f"epoch {epoch}: loss {loss:.4f}, accuracy {accuracy:.4f}")
        if accuracy > best:
            best, best_weights, waited = accuracy, copy.deepcopy(model.state_dict()), 0
        elif (waited := waited + 1) == args.patience:
            break
    model.load_state_dict(best_weights)
    print(f"best {best:.4f}, again {evaluate(model, validation):.4f}")


if __name__ == "__main__":
    main()

# Now ask the past. Below `total += loss.item()` add: print("norm", model[-1].weight.grad.norm().item())
# and run: flor replay
