"""Where everything of a store is: all its paths in one class."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from flor.errors import BadName, Damaged, NewerFormat, StoreUnwritable
from flor.store import files

VERSION = 1
MAGIC = "flor"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_OURS = {"FORMAT", ".gitignore", "runs", "groups", "index.sqlite", "index.sqlite-journal"}
_OURS |= {"restores", "trash", "gc.lock", "rehearsals"}

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Layout:
    """The folder of a store, `.flor` unless told otherwise."""

    root: Path

    @property
    def format(self) -> Path:
        """The file that says which version of the format this is."""
        return self.root / "FORMAT"

    @property
    def runs(self) -> Path:
        """The folder with a folder a run."""
        return self.root / "runs"

    @property
    def groups(self) -> Path:
        """The folder by which processes of one job find their run."""
        return self.root / "groups"

    @property
    def index(self) -> Path:
        """The cache of the run list."""
        return self.root / "index.sqlite"

    @property
    def restores(self) -> Path:
        """What replays noted of how long restores take."""
        return self.root / "restores"

    def run(self, name: str) -> Path:
        """The folder of a run; BadName if no run can be called that."""
        return self.runs / checked_name(name)

    def packs(self, name: str) -> Path:
        """The folder of a run's packs."""
        return self.run(name) / "packs"

    def prepare(self) -> None:
        """Make the store if it is not there; any number of processes may do so at once."""
        written(self.root, self._make_root)
        self.check()
        written(self.root, self._fill)

    def check(self) -> None:
        """NewerFormat or Damaged if this version of flor can't read the store; a store not made yet is fine."""
        try:
            text = files.read_regular(self.format, 1 << 12)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise StoreUnwritable(f"The store can't be read: {error.strerror}.", where=str(self.format)) from error
        version = _version(text)
        if version is None:
            raise Damaged(
                "The store's FORMAT file is not what flor wrote.",
                where=str(self.format),
                todo=f"If this is a store of version {VERSION}, write {format_line().decode().strip()} into that file.",
            )
        if version > VERSION:
            raise NewerFormat(
                f"The store has format {version}, this flor reads up to {VERSION}.",
                where=str(self.root),
                todo="Upgrade flor, or choose another folder with --store.",
            )

    def _make_root(self) -> None:
        if self.root.exists() and not self.root.is_dir():
            raise NotADirectoryError(20, "it is a file, not a folder")
        self.root.parent.mkdir(parents=True, exist_ok=True)
        self.root.mkdir(files.FOLDER_MODE, exist_ok=True)
        if not self.format.exists() and (others := _others(self.root)):
            # `--store .` must not put an ignore-all .gitignore into the user's project
            raise FileExistsError(17, f"the folder has other things in it ({others[0]})")

    def _fill(self) -> None:
        if not self.format.exists():
            files.put(self.format, format_line())
        ignore = self.root / ".gitignore"
        if not ignore.exists():
            files.put(ignore, b"*\n")
        self.runs.mkdir(files.FOLDER_MODE, exist_ok=True)
        if not os.access(self.runs, os.W_OK | os.X_OK):
            raise PermissionError(13, "it is read-only")


def checked_name(name: str) -> str:
    """The name itself, if a run can be called that; BadName otherwise."""
    if _NAME.fullmatch(name) is None or ".." in name:
        raise BadName(
            f"{name!r} can't be the name of a run.",
            todo="Use up to 64 of a-z 0-9 . _ - beginning with a letter or a digit, without two dots in a row.",
        )
    return name


def format_line() -> bytes:
    """What FORMAT holds."""
    return json.dumps({"magic": MAGIC, "version": VERSION}).encode() + b"\n"


def written(path: Path, write: Callable[[], Result]) -> Result:
    """The result of `write`; what the system has against it as StoreUnwritable."""
    try:
        return write()
    except OSError as error:
        raise StoreUnwritable(
            f"The store can't be written: {error.strerror or error}.",
            where=str(path),
            todo="Choose another folder with --store, or make room and permit writing there.",
        ) from error


def _version(text: bytes) -> int | None:
    try:
        values = json.loads(text)
        return int(values["version"]) if values["magic"] == MAGIC else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _others(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name not in _OURS and path.suffix != ".tmp")
