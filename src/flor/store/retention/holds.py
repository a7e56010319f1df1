"""A hold on a run: as long as a process has one, no sweep touches that run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from flor.store import locks


@contextmanager
def hold(run: Path) -> Iterator[None]:
    """Keep a run as it is while its checkpoints are read or linked; waits for a sweep that is just working on it."""
    fd = os.open(run, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # a filesystem that locks no folders: readers cope with checkpoints that vanish
            locks.lock(fd, shared=True)
        yield
    finally:
        os.close(fd)


@contextmanager
def alone_with(run: Path) -> Iterator[bool]:
    """True if nobody has a hold on the run, and nobody gets one until this ends."""
    fd = os.open(run, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield _is_free(fd)
    finally:
        os.close(fd)


def _is_free(fd: int) -> bool:
    try:
        return locks.try_lock(fd)
    except OSError:  # it locks no folders
        return True
