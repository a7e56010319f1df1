"""The files that a run has written: what each held when a checkpoint was taken."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field

from xxhash import xxh3_128_hexdigest

from flor.launch.filewatch import Change
from flor.model.records import Note

HASHED = 4 << 20  # bytes: larger files are told apart by size and time only
KNOWN = 1000  # files at most that a checkpoint speaks of

FileFact = tuple[int, int, str]
"""Size, time of change in ns, content hash (empty if too large); size -1: it was not there."""


@dataclass
class WrittenFiles:
    """Hears which files the script changes, and knows what they hold at a checkpoint."""

    note: Callable[[Note], None]
    known: dict[str, FileFact] = field(default_factory=dict)
    begun: set[str] = field(default_factory=set)

    def on_write(self, path: str, change: str) -> None:
        """A file is about to change; the first word on it tells a replay whether it was there before."""
        if path not in self.begun:
            self.begun.add(path)
            self.note(Note("file", {"path": path, "change": str(change)}))
        if change != Change.MKDIR:
            self.known.setdefault(path, (-1, 0, ""))

    def facts(self) -> dict[str, FileFact]:
        """What each written file holds now; those that did not change since the last time are not read again."""
        for path in list(self.known)[-KNOWN:]:
            self.known[path] = _fact(path, self.known[path])
        return dict(list(self.known.items())[-KNOWN:])


def _fact(path: str, before: FileFact) -> FileFact:
    try:
        found = os.stat(path)
        if (found.st_size, found.st_mtime_ns) == before[:2]:
            return before
        if found.st_size > HASHED or not os.path.isfile(path):
            return found.st_size, found.st_mtime_ns, ""
        with open(path, "rb") as file:
            return found.st_size, found.st_mtime_ns, xxh3_128_hexdigest(file.read())
    except OSError:
        return -1, 0, ""
