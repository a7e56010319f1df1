"""What changes in the run's folders, whoever changes it: C code and child processes write past Python."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from flor.launch.filewatch import Change
from flor.launch.inotify import CREATE, DELETE, IS_FOLDER, MODIFY, MOVED_FROM, MOVED_TO, ONLY_FOLDERS, Inotify

ASKED = CREATE | DELETE | MODIFY | MOVED_FROM | MOVED_TO | ONLY_FOLDERS
PATIENCE = 0.03  # seconds at most for looking through the folders before the script begins
NAMES = 5000  # entries of a folder at most that are remembered: what is in a larger one counts as there before
SKIPPED = frozenset((".git", ".hg", "__pycache__", "node_modules", ".venv", "venv", "site-packages"))


@dataclass
class Watched:
    """A folder, with what was in it when it was first seen; None if that was too much."""

    path: str
    names: set[str] | None


@dataclass
class FolderWatch:
    """Hears of changes in folders; they are told when somebody asks for them by `drain`."""

    tell: Callable[[str, Change], None]
    ignored: str  # the store
    kernel: Inotify = field(default_factory=Inotify)
    folders: dict[int, Watched] = field(default_factory=dict)
    known: set[str] = field(default_factory=set)

    def start(self, roots: Iterable[str]) -> None:
        """Watch these folders and those in them, the outer ones first, as far as time allows."""
        waiting, end = [os.path.realpath(root) for root in roots], time.monotonic() + PATIENCE
        while waiting and time.monotonic() < end:
            waiting += self._add(waiting.pop(0))

    def add(self, folder: str) -> None:
        """Watch one more folder: the run writes in it. One that everybody writes in, as /tmp, is left alone."""
        try:
            if not os.stat(folder).st_mode & stat.S_ISVTX:
                self._add(folder)
        except OSError:
            return

    def _add(self, folder: str) -> list[str]:
        """Watch a folder; the folders in it."""
        if folder in self.known or folder == self.ignored or os.path.basename(folder) in SKIPPED:
            return []
        self.known.add(folder)
        number = self.kernel.watch(folder, ASKED)
        if number is None:
            return []
        names: set[str] | None = set()
        inner = []
        with os.scandir(folder) as entries:
            for count, entry in enumerate(entries):
                if count >= NAMES:
                    names = None
                    break
                names.add(entry.name)  # type: ignore[union-attr]
                if entry.is_dir(follow_symlinks=False):
                    inner.append(entry.path)
        self.folders[number] = Watched(folder, names)
        return inner

    def drain(self) -> None:
        """Tell what has changed since the last time."""
        for event in self.kernel.events():
            folder = self.folders.get(event.watch)
            if folder is not None and event.name:
                self._changed(folder, event.name, event.what)

    def _changed(self, folder: Watched, name: str, what: int) -> None:
        path = f"{folder.path}/{name}"
        was_there = folder.names is None or name in folder.names
        if what & IS_FOLDER:
            if what & (CREATE | MOVED_TO):
                self._new_folder(path, was_there)
        elif what & (DELETE | MOVED_FROM):
            self.tell(path, Change.REMOVE if was_there else Change.CREATE)
        else:
            self.tell(path, Change.UPDATE if was_there else Change.CREATE)

    def _new_folder(self, path: str, was_there: bool) -> None:
        """Watch a folder that was made; what is in it by now was made too."""
        if not was_there:
            self.tell(path, Change.MKDIR)
        try:
            inner = self._add(path)
        except OSError:  # it is gone again
            return
        watched = next((folder for folder in self.folders.values() if folder.path == path), None)
        if watched is None or was_there:
            return
        for name in sorted((watched.names or set()) - {os.path.basename(folder) for folder in inner}):
            self.tell(f"{path}/{name}", Change.CREATE)
        watched.names = set()
        for folder in inner:
            self._new_folder(folder, was_there=False)
