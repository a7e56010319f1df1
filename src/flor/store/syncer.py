"""A thread that bounds what a power loss can take to the last second."""

from __future__ import annotations

import threading

from flor.store.journal import JournalWriter


class Syncer:
    """Syncs a journal at most once an interval, and only if it grew; a forked child has no such thread."""

    def __init__(self, writer: JournalWriter, interval: float = 1.0) -> None:
        self._writer = writer
        self._interval = interval
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="flor-sync", daemon=True)

    def start(self) -> None:
        """Begin; where no thread can be started, the journal is synced at its seal only."""
        try:
            self._thread.start()
        except RuntimeError:
            self._stopping.set()

    def stop(self) -> None:
        """End the thread and wait for it."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def __enter__(self) -> Syncer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self) -> None:
        synced = 0
        while not self._stopping.wait(self._interval):
            size = self._writer.size()
            if size > synced:
                self._writer.sync()
                synced = size
