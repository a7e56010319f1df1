"""Images to files."""

from __future__ import annotations

from pathlib import Path

import torch
from PIL import Image


def save_image(tensor: torch.Tensor, path: str | Path, nrow: int = 8, normalize: bool = False) -> None:
    """Write a batch of images as one file, `nrow` of them in a row."""
    images = tensor.detach().float()
    if normalize:
        images = (images - images.min()) / (images.max() - images.min()).clamp(min=1e-5)
    rows = [torch.cat(list(part), dim=2) for part in images.split(nrow) if len(part) == nrow or len(images) < nrow]
    grid = (torch.cat(rows, dim=1).clamp(0, 1) * 255).byte().permute(1, 2, 0).numpy()
    Image.fromarray(grid[:, :, 0] if grid.shape[2] == 1 else grid).save(path)
