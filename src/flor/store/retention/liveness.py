"""Whether a run is in use: recorded by a process, shared by a living job, or being replayed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from flor.errors import StoreError
from flor.store import files, locks
from flor.store.journal import LIVE
from flor.store.layout import Layout
from flor.store.reader import status_of
from flor.store.retention import dropped
from flor.store.retention.holds import alone_with
from flor.store.run import RunFolder

REPLAY_AGE = 86_400.0  # seconds for which the orders of a replay, whose workers have not begun, are believed


def why_in_use(run: RunFolder, jobs: frozenset[str], now: float) -> str:
    """The reason to leave a run alone; empty if no process is at work on it."""
    if run.name in jobs:
        return "its job is still running"
    if any(_is_recording(path) for path in run.fragments()):
        return "it is being recorded"
    if any(_is_recording(path) for path in _under(run.path / "replays", LIVE)) or _has_orders(run.path, now):
        return "it is being replayed"
    with alone_with(run.path) as free:
        return "" if free else "a process is at work on it"


def living_jobs(layout: Layout) -> frozenset[str]:
    """The runs on which the processes of a living job agreed: one of them may still be about to join."""
    try:
        turn = os.open(layout.groups / "lock", os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return frozenset()
    except OSError:  # it can't be told: each of them may be alive
        return frozenset(_name(path) for path in _groups(layout))
    try:
        locks.lock(turn)  # nobody decides while we look: our own lock below must not be taken for a member's
        return frozenset(_name(path) for path in _groups(layout) if _has_members(path))
    finally:
        files.close_quietly(turn)


def _groups(layout: Layout) -> list[Path]:
    return [path for path in layout.groups.iterdir() if path.name != "lock"]


def _has_members(path: Path) -> bool:
    fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        return not locks.try_lock(fd)
    finally:
        os.close(fd)


def _name(path: Path) -> str:
    return path.read_bytes()[:256].decode("utf-8", "replace")


def _is_recording(path: Path) -> bool:
    if path.parent.name == dropped.FOLDER:
        return False
    try:
        return path.suffix == LIVE and status_of(path) == "recording"
    except StoreError:  # gone since it was listed, or not readable: somebody is at work
        return True


def _has_orders(run: Path, now: float) -> bool:
    """A replay writes its orders before its workers begin, and deletes them when it ends."""
    return any(now - _modified(path) < REPLAY_AGE for path in (run / "replays").glob("*/w*.json"))


def _modified(path: Path) -> float:
    with suppress(FileNotFoundError):  # a replay has just ended
        return path.stat().st_mtime
    return 0.0


def _under(folder: Path, suffix: str) -> Iterator[Path]:
    return folder.glob(f"*/*{suffix}")
