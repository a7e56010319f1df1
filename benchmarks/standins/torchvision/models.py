"""One small residual network, under the name of a larger one."""

from __future__ import annotations

import torch
from torch import nn


class Residual(nn.Module):
    """Two convolutions beside a short cut."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width),
        )  # fmt: skip

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The input plus what the convolutions make of it."""
        return torch.relu(x + self.body(x))


class SmallResNet(nn.Module):
    """A residual network whose parts are named as in the large ones."""

    def __init__(self, width: int = 64, classes: int = 1000) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.pool = nn.MaxPool2d(4)
        self.layer1 = Residual(width)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(width, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scores of the classes."""
        x = self.pool(torch.relu(self.bn1(self.conv1(x))))
        return self.fc(torch.flatten(self.avgpool(self.layer1(x)), 1))


def resnet18(weights: None = None, pretrained: bool = False) -> SmallResNet:
    """Not eighteen layers, but four."""
    return SmallResNet()
