"""What a forked child lets go of at once: it must neither write its parent's files nor keep their locks."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable


def forsake_in_child(method: Callable[[], None]) -> None:
    """Call the bound method in every forked child, as long as its object lives."""
    reference = weakref.WeakMethod(method)

    def forsake() -> None:
        bound = reference()
        if bound is not None:
            bound()

    os.register_at_fork(after_in_child=forsake)


def living_children() -> list[int]:
    """The processes that this one started and that have not ended; empty where the system does not say."""
    try:
        tasks = os.listdir("/proc/self/task")
        return [int(pid) for task in tasks for pid in _read(f"/proc/self/task/{task}/children").split()]
    except (OSError, ValueError):
        return []


def _read(path: str) -> str:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, 1 << 16).decode()
    finally:
        os.close(fd)


def divert(fd: int) -> None:
    """Point a descriptor at nothing: its lock ends, and a thread still about to write to its number harms no file."""
    nothing = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.dup2(nothing, fd, inheritable=False)
    finally:
        os.close(nothing)
