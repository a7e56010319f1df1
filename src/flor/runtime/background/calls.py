"""A call of a logger's method on its way to where it is done."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any, Protocol

PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep


@dataclass(frozen=True)
class Call:
    """A method, what it is called with, and the line that calls it."""

    method: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    where: str


class Lane(Protocol):
    """Where the calls of one logger are done, one after the other."""

    def send(self, call: Call) -> bool:
        """Take a call to be done later; False if it has to be done here and now."""
        ...

    def wait(self) -> None:
        """Return once everything that was sent is done."""
        ...

    def close(self) -> None:
        """Wait, and give back what the lane holds."""
        ...


def caller(frame: FrameType) -> str:
    """The nearest line above that is not ours, as `file:line`."""
    at: FrameType | None = frame
    while at is not None and at.f_code.co_filename.startswith(PACKAGE):
        at = at.f_back
    return f"{at.f_code.co_filename}:{at.f_lineno}" if at is not None else "?"


def here() -> str:
    """The line outside of flor that is being executed, as `file:line`."""
    return caller(sys._getframe(1))
