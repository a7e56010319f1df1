"""Where execution is: the dynamic stack of loops with the iteration in each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from flor.model.explicit import given_name, is_block

MODULE = "<module>"


@dataclass(frozen=True, slots=True)
class LoopId:
    """A `for` or `while` of the user's code: file, qualified name of its function, ordinal among that function's loops.

    The text form, `train.py::Trainer.fit#0`, is what instrumented code passes to the runtime.
    """

    file: str
    function: str
    ordinal: int

    def __str__(self) -> str:
        return f"{self.file}::{self.function}#{self.ordinal}"

    @classmethod
    def parse(cls, text: str) -> LoopId:
        """The loop that `str` wrote."""
        file, _, rest = text.partition("::")
        function, _, ordinal = rest.rpartition("#")
        return cls(file, function, int(ordinal))


class Level(NamedTuple):
    """One loop of a position: which loop, its n-th execution within the enclosing iteration, the iteration in it."""

    loop: str
    occurrence: int
    iteration: int


Position = tuple[Level, ...]
"""Outermost loop first; empty outside of all loops."""


@dataclass(frozen=True, slots=True)
class Execution:
    """One execution of a loop: where it was begun, which loop, and the how-manieth there."""

    parent: Position
    loop: str
    occurrence: int

    def encloses(self, position: Position) -> bool:
        """True if the position is inside this execution."""
        depth = len(self.parent)
        return (
            len(position) > depth
            and position[:depth] == self.parent
            and position[depth].loop == self.loop
            and position[depth].occurrence == self.occurrence
        )


def readable(position: Position, names: dict[str, str]) -> str:
    """The position for people: `main/epoch=3/train:batch=17`; `names` has each loop's short name."""
    parts, function = ["main"], MODULE
    for level in position:
        loop = LoopId.parse(level.loop)
        prefix = "" if loop.function == function else f"{loop.function}:"
        again = f"#{level.occurrence}" if level.occurrence else ""
        name = given_name(level.loop)
        if name is not None:  # the user's own name says it all
            parts.append(f"{name}{again}" if is_block(level.loop) else f"{name}{again}={level.iteration}")
            continue
        parts.append(f"{prefix}{names.get(level.loop, 'loop')}{again}={level.iteration}")
        function = loop.function
    return "/".join(parts)
