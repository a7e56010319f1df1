"""Files of a resumed run, put in place for real: as they were at its checkpoint."""

from __future__ import annotations

import filecmp
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from flor.errors import FilesUnsafe, ReplayError
from flor.launch.overlay import Overlay, native
from flor.launch.rewind import Rewinder, open_streams
from flor.model.checkpoints import FileFact
from flor.store import files as durable

EVENTS = "tfevents"  # TensorBoard's own files: a resumed run begins a new one, and the old one stays whole


@dataclass
class Landing:
    """Ends an overlay such that the script goes on with real files; nothing is deleted, only set aside."""

    overlay: Overlay
    rewinder: Rewinder
    aside: Path
    held: frozenset[str] = frozenset()  # files that others have open: they stay
    told: list[str] = field(default_factory=list)
    set_aside: list[str] = field(default_factory=list)

    def land(self, files: Mapping[str, FileFact], made: Mapping[str, str], shapes: Mapping[str, str]) -> list[str]:
        """Put everything in place; what is not as it was at the checkpoint is told."""
        self._fill_open(files)
        written = self.overlay.written
        moves = {path: upper for path, upper in written.items() if self._is_needed(path, upper, files)}
        moves = {path: upper for path, upper in moves.items() if not self._is_held(path, upper)}
        _check_devices(moves)
        folders, later, cwd = (
            self.overlay.folders,
            self._later(files, made) - moves.keys() - self.held,
            self.overlay.cwd,
        )
        self.overlay.remove()
        for path in sorted(later):
            self._set_aside(path)
        if shapes:  # a checkpoint of an earlier version does not say which folders there were
            self._remove_later_folders({path for path, change in made.items() if change == "mkdir"} - shapes.keys())
        for path, upper in moves.items():
            if native.status(path) is not None and not _same(path, upper):
                self._set_aside(path, _copy)
        for folder in folders:
            os.makedirs(folder, exist_ok=True)
        for path, upper in moves.items():
            _move(upper, path)
        if cwd is not None:
            os.chdir(cwd)
        self._tell(files)
        return self.told

    def _fill_open(self, files: Mapping[str, FileFact]) -> None:
        """A file that the script has open and whose content can't be verified gets what most likely was in it."""
        for path in sorted(self.rewinder.lost & files.keys()):
            if open_streams(path) and (found := native.status(path)) is not None:
                size = min(files[path][0], found.st_size)
                with native.OPEN(path, "rb") as file:
                    self.rewinder.put(path, file.read(size))

    def _is_needed(self, path: str, upper: str, files: Mapping[str, FileFact]) -> bool:
        """False if the file on disk is to stay: it is as it was, or better than what we have."""
        if _is_open(upper):
            return True
        if path in self.rewinder.lost:
            return False  # what is in the overlay is not its content
        if EVENTS in path and path in files:
            return native.status(path) is None
        found, fact = native.status(path), files.get(path)
        return found is None or fact is None or (found.st_size, found.st_mtime_ns) != tuple(fact[:2])

    def _is_held(self, path: str, upper: str) -> bool:
        """True if the real file stays since C code or another program writes to it; FilesUnsafe if Python does too."""
        if path in self.held and _is_open(upper):
            raise FilesUnsafe(
                "The script has a file open twice, in Python code and in a library or another program.",
                where=path,
                todo="Close it in one of them before the training loop; or record the run again, from its start.",
            )
        return path in self.held

    def _later(self, files: Mapping[str, FileFact], made: Mapping[str, str]) -> set[str]:
        """What is on disk and was not there at the checkpoint."""
        gone = {path for path, fact in files.items() if fact[0] < 0}
        new = {path for path, change in made.items() if change == "create" and path not in files}
        return {path for path in gone | new | self.overlay.removed if EVENTS not in path and native.status(path)}

    def _remove_later_folders(self, folders: set[str]) -> None:
        """Remove folders that were made after the checkpoint, inner ones first; one with something in it stays."""
        for folder in sorted(folders, reverse=True):
            if native.is_directory(folder) and not native.listdir(folder):
                os.rmdir(folder)

    def _set_aside(self, path: str, move: Callable[[str, Path], object] | None = None) -> None:
        """Keep the file as the run left it in the store; by a copy if another one takes its place at once."""
        place = Path(f"{self.aside}{path}")
        place.parent.mkdir(parents=True, exist_ok=True)
        (move or _take)(path, place)
        self.set_aside.append(path)

    def _tell(self, files: Mapping[str, FileFact]) -> None:
        for path in sorted(self.rewinder.lost & files.keys()):
            self.told.append(f"{short(path)} is as the run left it, not as it was at the checkpoint")
        for path in sorted(path for path in files if open_streams(path)):
            self.told.append(f"{short(path)} was open: what was not flushed to it by the checkpoint is not in it")


def _move(upper: str, path: str) -> None:
    """Put a file in place at once, with the inode that the script may have open."""
    found = native.status(path)
    if found is not None:
        native.chmod(upper, found.st_mode & 0o7777)
    try:
        os.replace(upper, path)
    except OSError:  # another file system
        shutil.copy2(upper, f"{path}.flor-new")
        os.replace(f"{path}.flor-new", path)


def _copy(path: str, place: Path) -> None:
    """A copy that is whole when it is there."""
    with durable.appearing(place) as scratch:
        shutil.copy2(path, scratch, follow_symlinks=False)


def _take(path: str, place: Path) -> None:
    """Move a file; it is whole in one of the two places at every moment."""
    try:
        os.replace(path, place)
    except OSError:  # another file system, or a folder
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.move(path, place)
        else:
            _copy(path, place)
            os.unlink(path)


def _same(path: str, upper: str) -> bool:
    return Path(path).is_file() and filecmp.cmp(path, upper, shallow=False)


def _check_devices(moves: Mapping[str, str]) -> None:
    """Refuse, before anything is changed, if a file that the script has open would have to be copied."""
    for path, upper in moves.items():
        folder = path.rpartition("/")[0]
        while folder and native.status(folder) is None:
            folder = folder.rpartition("/")[0]
        if _is_open(upper) and native.stat(folder or "/").st_dev != native.stat(upper).st_dev:
            raise ReplayError(
                f"The script has {path} open, which is on another file system than the store.",
                todo="Use a --store on that file system.",
            )


def _is_open(upper: str) -> bool:
    """True if this process has the file open or mapped."""
    found = native.stat(upper)
    for descriptor in native.listdir("/proc/self/fd"):
        try:
            if os.path.samestat(os.fstat(int(descriptor)), found):
                return True
        except OSError:
            continue
    with native.OPEN("/proc/self/maps") as maps:
        return any(line.rstrip().endswith(upper) for line in maps)


def short(path: str) -> str:
    """A path as people read it."""
    relative = os.path.relpath(path)
    return path if relative.startswith("../..") else relative
