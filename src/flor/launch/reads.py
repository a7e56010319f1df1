"""The files that a run has read and not written itself: its data, so that a replay can say that they changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Container
from dataclasses import dataclass

from flor.model.records import Note

KNOWN = 1000  # files at most that are noted: a data set of a million images is known by its first thousand
SYSTEM = ("/etc/", "/usr/", "/run/", "/var/", "/opt/")


@dataclass
class ReadFiles:
    """Notes each file at its first reading: size and time of change."""

    note: Callable[[Note], None]
    written: Container[str]
    count: int = 0

    def on_read(self, path: str) -> None:
        """A file is about to be read."""
        if self.count >= KNOWN or path in self.written or path.endswith(".py") or path.startswith(SYSTEM):
            return
        found = os.stat(path)
        self.count += 1
        self.note(Note("read", {"path": path, "size": found.st_size, "time": found.st_mtime_ns}))
