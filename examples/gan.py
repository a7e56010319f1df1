"""A GAN that draws digits: two networks, two optimizers, and losses that say little about what went wrong."""

import argparse

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=12)
parser.add_argument("--batch-size", type=int, default=32)
parser.add_argument("--noise", type=int, default=16)
args = parser.parse_args()

torch.manual_seed(0)
images = torch.tensor(load_digits().data, dtype=torch.float32) / 8 - 1
loader = DataLoader(TensorDataset(images), args.batch_size, shuffle=True, drop_last=True)

generator = nn.Sequential(
    nn.Linear(args.noise, 128), nn.BatchNorm1d(128), nn.ReLU(),
    nn.Linear(128, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, 64), nn.Tanh(),
)  # fmt: skip
critic = nn.Sequential(nn.Linear(64, 128), nn.LeakyReLU(0.2), nn.Dropout(0.3), nn.Linear(128, 1))
optimizer_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
optimizer_c = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.999))
fixed_noise = torch.randn(4, args.noise)


def verdict(pictures, real):
    """How far the critic is from calling all of these pictures real, or all of them made."""
    scores = critic(pictures)
    return F.binary_cross_entropy_with_logits(scores, torch.full_like(scores, float(real)))


def show(pictures):
    """Pictures as text, side by side."""
    for row in pictures.reshape(-1, 8, 8).transpose(0, 1):
        print("   ".join("".join(" .:*#"[int((pixel + 1) * 2.49)] for pixel in line) for line in row.tolist()))


for epoch in range(args.epochs):
    for (real,) in loader:
        made = generator(torch.randn(len(real), args.noise))
        loss_c = verdict(real, True) + verdict(made.detach(), False)
        optimizer_c.zero_grad()
        loss_c.backward()
        optimizer_c.step()

        loss_g = verdict(made, True)
        optimizer_g.zero_grad()
        loss_g.backward()
        optimizer_g.step()
    print(f"epoch {epoch}: critic {loss_c.item():.4f}, generator {loss_g.item():.4f}")

generator.eval()
with torch.no_grad():
    show(generator(fixed_noise))

# Now ask the past. Below `optimizer_g.step()` add: print("variety", epoch, made.std(0).mean().item())
# and run: flor replay
