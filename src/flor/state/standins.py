"""Functions of ours in the place of a library's: to a checkpoint they are what they stand for."""

from __future__ import annotations

from typing import Any

STAND_IN = "stand-in"
"""The kind of such an object; no node has it."""


def is_stand_in(obj: Any) -> bool:
    """True for an object of ours that wraps another: a script may hold one by `from os import remove`."""
    return str(type(obj).__module__).startswith("flor.") and "__wrapped__" in getattr(obj, "__dict__", ())


def original(obj: Any) -> Any:
    """What an object stands for, else the object itself."""
    return obj.__wrapped__ if is_stand_in(obj) else obj
