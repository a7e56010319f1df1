"""Long lists of plain numbers as one array of bytes, exactly."""

from __future__ import annotations

from array import array
from operator import ne
from typing import Any

from flor.state.addresses import LOW as ADDRESS

LONG = 512
"""Shorter lists stay in the graph, where they are readable."""
VERY_LONG = 1 << 16
"""A longer list is packed in any case."""


def pack(values: list[Any]) -> tuple[str, memoryview] | None:
    """The type code and the bytes, or None if the list is short or not of one plain number type."""
    if len(values) < LONG:
        return None
    types = set(map(type, values))
    code = {int: "q", float: "d"}.get(types.pop()) if len(types) == 1 else None
    if code is None or (len(values) < VERY_LONG and _needs_slots(values, code)):
        return None
    try:
        return code, memoryview(array(code, values)).cast("B")
    except OverflowError:
        return None


def _needs_slots(values: list[Any], code: str) -> bool:
    """True if some numbers are more than numbers: an address of an object, a NaN that is known by its identity."""
    return max(values) > ADDRESS if code == "q" else any(map(ne, values, values))


def unpack(code: str, data: memoryview | None) -> list[Any]:
    """The list that was packed."""
    numbers = array(code)
    numbers.frombytes(data if data is not None else b"")
    return numbers.tolist()
