"""Transforms of PIL images, each as simple as it can be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from PIL import Image

Picture = Any  # a PIL image


@dataclass
class Compose:
    """One transform after the other."""

    transforms: Sequence[Callable[[Any], Any]]

    def __call__(self, image: Any) -> Any:
        for transform in self.transforms:
            image = transform(image)
        return image


@dataclass
class Lambda:
    """A function as a transform."""

    function: Callable[[Any], Any]

    def __call__(self, image: Any) -> Any:
        return self.function(image)


class ToTensor:
    """Channels first, from 0 to 1."""

    def __call__(self, image: Picture) -> torch.Tensor:
        array = np.array(image, dtype=np.float32) / 255
        return torch.from_numpy(array[None] if array.ndim == 2 else array.transpose(2, 0, 1).copy())


@dataclass
class Normalize:
    """Subtract a mean and divide by a deviation, a channel."""

    mean: Sequence[float]
    std: Sequence[float]

    def __call__(self, image: torch.Tensor) -> torch.Tensor:
        shape = (-1, 1, 1)
        return (image - torch.tensor(self.mean).view(shape)) / torch.tensor(self.std).view(shape)


@dataclass
class Resize:
    """The shorter side gets this size."""

    size: int

    def __call__(self, image: Picture) -> Picture:
        width, height = image.size
        scale = self.size / min(width, height)
        return image.resize((round(width * scale), round(height * scale)), Image.Resampling.BILINEAR)


@dataclass
class CenterCrop:
    """A square of the middle."""

    size: int

    def __call__(self, image: Picture) -> Picture:
        left, top = (image.width - self.size) // 2, (image.height - self.size) // 2
        return image.crop((left, top, left + self.size, top + self.size))


@dataclass
class RandomResizedCrop:
    """A square of a size and a place left to chance, enlarged."""

    size: int

    def __call__(self, image: Picture) -> Picture:
        shorter = min(image.size)
        side = int(torch.randint(shorter // 2, shorter + 1, ()))
        left = int(torch.randint(image.width - side + 1, ()))
        top = int(torch.randint(image.height - side + 1, ()))
        part = image.crop((left, top, left + side, top + side))
        return part.resize((self.size, self.size), Image.Resampling.BILINEAR)


class RandomHorizontalFlip:
    """Every second image is turned around."""

    def __call__(self, image: Picture) -> Picture:
        turned = bool(torch.rand(()) < 0.5)
        return image.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if turned else image
