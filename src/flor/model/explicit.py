"""What named loops and blocks are called: `flor.loop("epoch", ...)` is the loop `flor.loop::epoch#0`."""

from __future__ import annotations

from enum import StrEnum


class Construct(StrEnum):
    """What the user wrote."""

    LOOP = "flor.loop"
    GENERATOR = "flor.generator"
    BLOCK = "flor.skipblock"
    START = "flor.checkpoint_resume"

    def named(self, name: str) -> str:
        """The id of the loop or block of that name."""
        return f"{self.value}::{name}#0"


KINDS = tuple(f"{construct.value}::" for construct in Construct)


def is_explicit(loop: str) -> bool:
    """True if the user has named it, rather than its place in the source."""
    return loop.startswith(KINDS)


def is_block(loop: str) -> bool:
    """True for what is no loop: it has no iterations to divide."""
    return loop.startswith((f"{Construct.BLOCK.value}::", f"{Construct.START.value}::"))


def given_name(loop: str) -> str | None:
    """The name that the user gave, or None for a loop of the source."""
    return loop.partition("::")[2].rpartition("#")[0] if is_explicit(loop) else None
