"""SqueezeNet and a small ResNet."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Fire(nn.Module):
    """Squeeze, then expand in two ways."""

    def __init__(self, inside: int, squeeze: int, expand: int) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(inside, squeeze, 1)
        self.one = nn.Conv2d(squeeze, expand, 1)
        self.three = nn.Conv2d(squeeze, expand, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.squeeze(x))
        return torch.cat([torch.relu(self.one(x)), torch.relu(self.three(x))], 1)


def squeezenet(classes: int, scale: int = 1) -> nn.Module:
    """Fire modules between poolings; `scale` widens all of them."""
    w = 16 * scale
    return nn.Sequential(
        nn.Conv2d(3, 4 * w, 3, stride=2, padding=1),
        nn.ReLU(),
        Fire(4 * w, w, 4 * w),
        Fire(8 * w, w, 4 * w),
        nn.MaxPool2d(2),
        Fire(8 * w, 2 * w, 8 * w),
        Fire(16 * w, 2 * w, 8 * w),
        nn.MaxPool2d(2),
        Fire(16 * w, 3 * w, 12 * w),
        Fire(24 * w, 4 * w, 16 * w),
        nn.Dropout(0.5),
        nn.Conv2d(32 * w, classes, 1),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
    )


class Residual(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.path = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
        )

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x + self.path(x))


def resnet(classes: int, width: int, blocks: int) -> nn.Module:
    """A stem, residual blocks, a linear head."""
    stem = nn.Sequential(nn.Conv2d(3, width, 3, stride=2, padding=1), nn.BatchNorm2d(width), nn.ReLU())
    head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, classes))
    return nn.Sequential(stem, *(Residual(width) for _ in range(blocks)), head)
