"""The random number generators that belong to no variable: python's, numpy's, torch's, every CUDA device's."""

from __future__ import annotations

import random
import sys
from typing import Any

from flor.state import loaded


def world() -> dict[str, Any]:
    """The live global generators by name; only those of loaded libraries and initialised devices."""
    found: dict[str, Any] = {"python": random._inst}
    if loaded.numpy() is not None:
        found["numpy"] = sys.modules["numpy.random.mtrand"]._rand
    torch = loaded.torch()
    if torch is not None:
        found["torch"] = torch.default_generator
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            found.update((f"cuda:{i}", generator) for i, generator in enumerate(torch.cuda.default_generators))
    return found
