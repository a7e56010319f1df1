"""What one journal contributes to the list of runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flor.model.records import Ended, Facts, LogRecord
from flor.store.reader import JournalReader, Status, read_journal


@dataclass(frozen=True, slots=True)
class FragmentDigest:
    """One journal in numbers; `started` and `seconds` fall back to the times of its log records."""

    status: Status
    started: float | None
    seconds: float | None
    exit: int | None
    script: str | None
    argv: tuple[str, ...]
    logs: int
    damage: int
    ended: bool


UNREADABLE = FragmentDigest("killed", None, None, None, None, (), logs=0, damage=1, ended=False)
"""Stands for a journal that can't be read at all."""


def digest_journal(path: Path) -> FragmentDigest:
    """Read a journal once, from its first frame to its last."""
    reader = read_journal(path)
    facts: dict[str, Any] = {}
    first = last = None
    logs = 0
    for record in reader:
        if isinstance(record, LogRecord):
            logs += 1
            first, last = (record.time if first is None else first), record.time
        elif isinstance(record, Facts):
            facts = {**record.values, **facts}
    return _digest(reader, facts, logs, first, last)


def _digest(
    reader: JournalReader, facts: dict[str, Any], logs: int, first: float | None, last: float | None
) -> FragmentDigest:
    ended = reader.ended or Ended({})
    started = _number(facts.get("started"))
    started = first if started is None else started
    seconds = _number(ended.values.get("seconds"))
    if seconds is None and started is not None and last is not None:
        seconds = max(0.0, last - started)
    argv = facts.get("argv")
    return FragmentDigest(
        status=reader.status,
        started=started,
        seconds=seconds,
        exit=_whole(ended.values.get("exit")),
        script=str(facts["script"]) if facts.get("script") is not None else None,
        argv=tuple(map(str, argv)) if isinstance(argv, list) else (),
        logs=logs,
        damage=len(reader.damage),
        ended=reader.ended is not None,
    )


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
