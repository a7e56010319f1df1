"""The files that a run has written: what each held when a checkpoint was taken."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from xxhash import xxh3_128_hexdigest

from flor.launch.filewatch import Change
from flor.launch.shapes import shapes_of
from flor.model.checkpoints import FileFact, FilesNow
from flor.model.records import Note

HASHED = 4 << 20  # bytes: larger files are told apart by size and time only
KNOWN = 1000  # files at most that a checkpoint speaks of
SMALL = 64 << 10  # bytes: the content of a file up to this size is kept with the checkpoint
SMALL_IN_ALL = 1 << 20  # bytes of such contents at most
TICK = 50_000_000  # ns: a file that was changed so shortly before it was looked at may change again unseen
GONE: FileFact = (-1, 0, "")


@dataclass
class WrittenFiles:
    """Hears which files the script changes, and knows what they hold at a checkpoint."""

    note: Callable[[Note], None]
    known: dict[str, FileFact] = field(default_factory=dict)
    folders: dict[str, None] = field(default_factory=dict)  # that the script has made, in their order
    begun: set[str] = field(default_factory=set)
    contents: dict[str, bytes] = field(default_factory=dict)  # path -> what it held when it was last looked at
    _looked: dict[str, int] = field(default_factory=dict)  # path -> when that was

    def on_write(self, path: str, change: str, *, unseen: bool = False) -> None:
        """A file is about to change; the first word on it tells a replay whether it was there before.

        `unseen` changes are those of C code and of other processes, which were heard of after they were made.
        """
        if path not in self.begun:
            self.begun.add(path)
            self.note(Note("file", {"path": path, "change": str(change), **({"unseen": True} if unseen else {})}))
        if change == Change.MKDIR:
            self.folders.setdefault(path)
        else:
            self.known.setdefault(path, GONE)

    def now(self) -> FilesNow:
        """What each written file holds now; those that did not change since the last time are not read again."""
        paths = list(self.known)[-KNOWN:]
        room = SMALL_IN_ALL
        contents: dict[str, bytes] = {}
        for path in paths:
            fact = self.known[path] = self._fact(path, self.known[path])
            held = self.contents.get(path)
            if held is not None and len(held) <= room:
                room -= len(held)
                contents[fact[2]] = held
        shapes = shapes_of([*list(self.folders)[-KNOWN:], *paths])
        return FilesNow({path: self.known[path] for path in paths}, contents, shapes)

    def _fact(self, path: str, before: FileFact) -> FileFact:
        looked = time.time_ns()
        try:
            found = os.stat(path)
            if (found.st_size, found.st_mtime_ns) == before[:2] and self._is_sure(path, before):
                return before
            self.contents.pop(path, None)
            self._looked[path] = looked
            if found.st_size > HASHED or not os.path.isfile(path):
                return found.st_size, found.st_mtime_ns, ""
            with open(path, "rb") as file:
                content = file.read()
        except OSError:
            self.contents.pop(path, None)
            return GONE
        if len(content) <= SMALL:
            self.contents[path] = content
        return len(content), found.st_mtime_ns, xxh3_128_hexdigest(content)

    def _is_sure(self, path: str, before: FileFact) -> bool:
        """True if what was read before is what the file holds: its time tells changes of one tick not apart."""
        is_settled = before[1] < self._looked.get(path, 0) - TICK
        return is_settled and (before[0] > SMALL or path in self.contents)
