"""A thread that bounds what a power loss can take to the last second."""

from __future__ import annotations

import os
import threading

from flor.store import threads
from flor.store.journal import JournalWriter


class Syncer:
    """Syncs a journal at most once an interval, and only if it grew; a forked child has no such thread."""

    def __init__(self, writer: JournalWriter, interval: float = 1.0) -> None:
        self._writer = writer
        self._interval = interval
        self._stopping = threading.Event()
        self._ended = threading.Event()
        self._started = 0  # the process in which the thread runs

    def start(self) -> None:
        """Begin; where no thread can be started, the journal is synced at its seal only."""
        try:
            threads.start(self._run)
            self._started = os.getpid()
        except RuntimeError:
            self._stopping.set()

    def stop(self) -> None:
        """End the thread and wait for it."""
        self._stopping.set()
        if self._started == os.getpid():  # in a forked child there is no such thread
            self._ended.wait()
        self._started = 0

    def __enter__(self) -> Syncer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self) -> None:
        synced = 0
        try:
            while not self._stopping.wait(self._interval):
                size = self._writer.size()
                if size > synced:
                    self._writer.sync()
                    synced = size
        finally:
            self._ended.set()
