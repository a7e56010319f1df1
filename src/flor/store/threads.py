"""Threads of our own that the script does not notice: it does not count them, and its signals do not reach them."""

from __future__ import annotations

import _thread
import signal
from collections.abc import Callable


def start(work: Callable[[], None]) -> None:
    """Begin a thread; RuntimeError where none can be had.

    Not a threading.Thread, which a script that counts its threads would find. And born with every signal blocked: one
    that the script has blocked in its own threads must not be delivered to ours.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        _thread.start_new_thread(work, ())
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
