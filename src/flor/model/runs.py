"""What a list of runs says of each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One run in a list; what its journals do not say is None.

    `status` is recording, killed (no process holds a journal that has no end) or sealed; `damage` counts unreadable
    places; `exit` is what the script ended with, of the first rank that says.
    """

    name: str
    status: str
    started: float | None
    seconds: float | None
    exit: int | None
    script: str | None
    argv: tuple[str, ...]
    fragments: int
    logs: int
    bytes: int
    damage: int
