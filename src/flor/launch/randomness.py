"""The random states that a run begins with, kept and given back, so that an unseeded script replays."""

from __future__ import annotations

import random
from types import ModuleType
from typing import Any


def random_state() -> list[Any]:
    """The state of Python's generator, as JSON."""
    version, state, gauss = random.getstate()
    return [version, list(state), gauss]


def set_random_state(values: list[Any]) -> None:
    """Put it back."""
    version, state, gauss = values
    random.setstate((version, tuple(state), gauss))


def numpy_facts(numpy: ModuleType) -> dict[str, Any]:
    """numpy's version and the state of its global generator right after import, as JSON."""
    kind, keys, position, has_gauss, gauss = numpy.random.get_state(legacy=True)
    state = [kind, keys.tolist(), int(position), int(has_gauss), float(gauss)]
    return {"version": numpy.__version__, "random": state}


def set_numpy_state(numpy: ModuleType, values: list[Any]) -> None:
    """Put it back."""
    kind, keys, *rest = values
    numpy.random.set_state((kind, numpy.array(keys, dtype="uint32"), *rest))
