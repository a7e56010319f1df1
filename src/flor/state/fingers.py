"""The hidden place of a set from which its next `pop` looks, and which no method of it shows."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

_WORD = ctypes.sizeof(ctypes.c_ssize_t)
# In CPython's PySetObject, after the head: fill, used, mask, table, hash, finger.
_USED, _FINGER = 3 * _WORD, 7 * _WORD
_KNOWN = sys.implementation.name == "cpython" and object.__basicsize__ == 2 * _WORD


def finger(obj: Any) -> int:
    """The place as it lies in memory; 0 for a set that was never popped from, and where memory is laid out unknown."""
    if not _KNOWN or _word(obj, _USED) != set.__len__(obj):
        return 0
    return _word(obj, _FINGER)


def _word(obj: Any, offset: int) -> int:
    return ctypes.c_ssize_t.from_address(id(obj) + offset).value
