"""Threads of our own that the script does not notice: it does not count them, and its signals do not reach them."""

from __future__ import annotations

import _thread
import os
import signal
import threading
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

FORKS = "multi-threaded, use of fork"  # said since Python 3.12 to who forks, and has more than one thread

_ours: set[Callable[[], None]] = set()  # those under way


def start(work: Callable[[], None]) -> None:
    """Begin a thread; RuntimeError where none can be had.

    Not a threading.Thread, which a script that counts its threads would find. And born with every signal blocked: one
    that the script has blocked in its own threads must not be delivered to ours.
    """

    def counted() -> None:
        try:
            work()
        finally:
            _ours.discard(counted)

    _watch_forks()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        _ours.add(counted)
        _thread.start_new_thread(counted, ())
    except BaseException:
        _ours.discard(counted)
        raise
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _OnlyOurs:
    """What stands where a filter of `warnings` has its pattern: matches if the script by itself has but one thread."""

    def match(self, text: str) -> bool:
        return FORKS in text and _threads_of_the_script() <= 1


_NOT_SAID: Any = ("ignore", _OnlyOurs(), DeprecationWarning, None, 0)


@cache
def _watch_forks() -> None:
    os.register_at_fork(before=_hush, after_in_child=_ours.clear)


def _hush() -> None:
    filters: Any = warnings.filters
    if _NOT_SAID not in filters:
        filters.insert(0, _NOT_SAID)


def _threads_of_the_script() -> int:
    try:
        return len(os.listdir("/proc/self/task")) - len(_ours)
    except OSError:
        return threading.active_count()
