"""Small datasets with the interface of the large ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset

TRAINING, TESTING = 1500, 256  # of the 1797 digits that scikit-learn brings
Transform = Callable[[Any], Any]


def _digits() -> tuple[np.ndarray, np.ndarray]:
    """Scikit-learn's digits, enlarged from 8 to 28 pixels."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    small = (digits.images * 15.9).astype(np.uint8)
    large = [np.asarray(Image.fromarray(image).resize((28, 28), Image.Resampling.BILINEAR)) for image in small]
    return np.stack(large), digits.target


class MNIST(Dataset[Any]):
    """Handwritten digits of 28 x 28 pixels."""

    def __init__(self, root: str, train: bool = True, transform: Transform | None = None, download: bool = False):
        images, labels = _digits()
        part = slice(TRAINING) if train else slice(TRAINING, TRAINING + TESTING)
        self.data = torch.from_numpy(images[part].copy())
        self.targets = torch.from_numpy(labels[part].astype(np.int64))
        self.transform = transform

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        image: Any = Image.fromarray(self.data[index].numpy())
        return (self.transform(image) if self.transform else image), int(self.targets[index])


class FakeData(Dataset[Any]):
    """Noise: an image is a function of its index."""

    def __init__(
        self,
        size: int = 1000,
        image_size: tuple[int, int, int] = (3, 224, 224),
        num_classes: int = 10,
        transform: Transform | None = None,
    ):
        self.size, self.image_size, self.classes, self.transform = size, image_size, num_classes, transform

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> tuple[Any, int]:
        if index >= self.size:
            raise IndexError(index)
        chance = np.random.default_rng(index)
        channels, height, width = self.image_size
        image: Any = Image.fromarray(chance.integers(0, 256, (height, width, channels), dtype=np.uint8))
        return (self.transform(image) if self.transform else image), int(chance.integers(self.classes))


class ImageFolder(Dataset[Any]):
    """The images below a folder, a folder a class."""

    def __init__(self, root: str, transform: Transform | None = None):
        self.classes = sorted(path.name for path in Path(root).iterdir() if path.is_dir())
        self.samples = [
            (str(path), number)
            for number, name in enumerate(self.classes)
            for path in sorted(Path(root, name).glob("*.png"))
        ]
        self.transform = transform

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        path, label = self.samples[index]
        with Image.open(path) as file:
            image: Any = file.convert("RGB")
        return (self.transform(image) if self.transform else image), label
