"""What a replay says while it is under way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Say = Callable[[str], None]


def nothing(_: str) -> None:
    """Say nothing."""


@dataclass(frozen=True)
class Saying:
    """Where the words go: to the bar, to the user in any case, or only to one who wants to know everything."""

    progress: Say = nothing
    tell: Say = nothing
    detail: Say = nothing
