"""Copies of the user's files, made before a resumed script begins, since code that is not Python's may destroy them."""

from __future__ import annotations

import filecmp
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from flor.errors import FilesUnsafe
from flor.launch.wall.changed import files_in
from flor.store import files

MARK = "unsettled.json"  # in the new run's folder, from before the first change of a file until all are settled
ASIDE = "aside"
SCRATCH = re.compile(r"\.\d+-[0-9a-f]{8}\.tmp$")  # a copy that was not finished
NAMED = 5  # files at most that an error names


@dataclass
class Keeping:
    """The copies of one resumed run: `<run>/aside/<absolute path>`."""

    run: Path
    of: str  # the run that is resumed
    paths: list[str] = field(default_factory=list)

    @property
    def mark(self) -> Path:
        """The file that says that the copies are still needed."""
        return self.run / MARK

    def copy_of(self, path: str) -> Path:
        """Where the copy of a file is."""
        return Path(f"{self.run / ASIDE}{path}")

    def keep(self, paths: Iterable[str]) -> None:
        """Copy files; FilesUnsafe, with nothing changed, if that is not possible."""
        self.paths = [path for path in paths if os.path.lexists(path)]
        try:
            self._check_room()
            for path in self.paths:
                copy(path, self.copy_of(path))
            files.put(self.mark, json.dumps({"of": self.of}).encode())
        except OSError as error:
            raise FilesUnsafe(
                f"The script's beginning writes to files that can't be copied first: {error.strerror or error}.",
                where=self._names(),
                todo="Make room in the store's folder, or move these files away, then resume again.",
            ) from error

    def _check_room(self) -> None:
        needed = sum(os.lstat(path).st_size for path in self.paths)
        free = shutil.disk_usage(self.run).free
        if needed > free:
            raise OSError(28, f"{needed:,} bytes are needed and {free:,} are free")

    def _names(self) -> str:
        more = len(self.paths) - NAMED
        return ", ".join(self.paths[:NAMED]) + (f" and {more} more" if more > 0 else "")

    def put_back(self, but: Callable[[str], bool] = lambda _: False) -> None:
        """Let the files be what they were before the script began, but for some."""
        for path in self.paths:
            if not but(path):
                put_back(self.copy_of(path), path)

    def settle(self) -> list[str]:
        """Everything is in place: forget copies that are on disk already; the paths of the others."""
        for path in self.paths:
            if same(self.copy_of(path), Path(path)):
                self.copy_of(path).unlink()
        self.mark.unlink(missing_ok=True)
        _prune(self.run / ASIDE)
        return [path for path in self.paths if os.path.lexists(self.copy_of(path))]

    def abandon(self) -> None:
        """Put everything back, and be gone."""
        self.put_back()
        self.settle()


def copy(path: str, place: Path) -> None:
    """A copy that is either whole and durable, or not there."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with files.appearing(place) as scratch:
        shutil.copy2(path, scratch, follow_symlinks=False)
        if not scratch.is_symlink():
            with open(scratch, "rb") as file:
                os.fsync(file.fileno())


def put_back(kept: Path, path: str) -> None:
    """Let a path be the kept file again, at once; hard links to a file that is still there stay."""
    if not os.path.lexists(kept) or same(kept, Path(path)):
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.isdir(path) and not os.path.islink(path):
        return  # a folder has taken its place: the file stays set aside
    if not kept.is_symlink() and not os.path.islink(path) and os.path.isfile(path) and os.stat(path).st_nlink > 1:
        shutil.copyfile(kept, path)
        shutil.copystat(kept, path)
        return
    scratch = files.temporary(kept)
    shutil.copy2(kept, scratch, follow_symlinks=False)
    try:
        os.replace(scratch, path)
    except OSError:  # another file system
        scratch.unlink()
        copy(str(kept), Path(path))


def rewrite(path: Path, content: bytes, scratch: Path) -> None:
    """Give a file another content at once, by way of a scratch file; nothing if it is that already."""
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch.write_bytes(content)
    if path.is_file():
        shutil.copymode(path, scratch)
    try:
        os.replace(scratch, path)
    except OSError:  # another file system
        shutil.copyfile(scratch, path)
        scratch.unlink()


def same(one: Path, other: Path) -> bool:
    """True if two files or links have one content."""
    if one.is_symlink() or other.is_symlink():
        return one.is_symlink() and other.is_symlink() and os.readlink(one) == os.readlink(other)
    return one.is_file() and other.is_file() and filecmp.cmp(one, other, shallow=False)


def _prune(folder: Path) -> None:
    """Remove folders with nothing in them."""
    for inner, _, _ in os.walk(folder, topdown=False):
        if not os.listdir(inner):
            os.rmdir(inner)


def unsettled(runs: Path) -> Iterator[Keeping]:
    """The attempts that ended before they had settled their files, with all that they have set aside."""
    for mark in sorted(runs.glob(f"*/{MARK}")):
        try:
            of = str(json.loads(files.read_regular(mark, 1 << 16))["of"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
        aside = str(mark.parent / ASIDE)
        paths = [path.removeprefix(aside) for path in files_in(aside) if not SCRATCH.search(path)]
        yield Keeping(mark.parent, of, paths)
