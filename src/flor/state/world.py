"""State that belongs to no variable: the random numbers of python, numpy, torch and every device, and settings."""

from __future__ import annotations

import random
import sys
from typing import Any

from flor.state import loaded
from flor.state.settings import SETTINGS, SURROUNDINGS


def world() -> dict[str, Any]:
    """By name: the live global generators of loaded libraries and initialised devices, and what stands for settings."""
    found: dict[str, Any] = {"python": random._inst, "settings": SETTINGS, "surroundings": SURROUNDINGS}
    if loaded.numpy() is not None:
        found["numpy"] = sys.modules["numpy.random.mtrand"]._rand
    torch = loaded.torch()
    if torch is not None:
        found["torch"] = torch.default_generator
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            found.update((f"cuda:{i}", generator) for i, generator in enumerate(torch.cuda.default_generators))
    return found
