"""Long lists of plain numbers as one array of bytes, exactly."""

from __future__ import annotations

from array import array
from typing import Any

LONG = 512
"""Shorter lists stay in the graph, where they are readable."""


def pack(values: list[Any]) -> tuple[str, memoryview] | None:
    """The type code and the bytes, or None if the list is short or not of one plain number type."""
    if len(values) < LONG:
        return None
    types = set(map(type, values))
    code = {int: "q", float: "d"}.get(types.pop()) if len(types) == 1 else None
    if code is None:
        return None
    try:
        return code, memoryview(array(code, values)).cast("B")
    except OverflowError:
        return None


def unpack(code: str, data: memoryview | None) -> list[Any]:
    """The list that was packed."""
    numbers = array(code)
    numbers.frombytes(data if data is not None else b"")
    return numbers.tolist()
