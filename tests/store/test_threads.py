"""Threads of our own are not noticed by the script."""

from __future__ import annotations

import queue
import signal
import threading

from flor.store import threads


def test_such_a_thread_has_every_signal_blocked_and_is_not_counted() -> None:
    found: queue.SimpleQueue[tuple[set[int], int]] = queue.SimpleQueue()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    threads.start(lambda: found.put((signal.pthread_sigmask(signal.SIG_BLOCK, []), threading.active_count())))
    blocked, count = found.get(timeout=20)
    assert {signal.SIGUSR1, signal.SIGTERM, signal.SIGINT} <= blocked
    assert count == threading.active_count()
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before
