"""The overlay: while it is installed, all that the process writes lands in one folder."""

from __future__ import annotations

import builtins
import glob
import io
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from flor.errors import UsageError
from flor.launch.overlay import databases, foreign, native
from flor.launch.overlay.arrivals import Arrivals
from flor.launch.overlay.changing import Changing
from flor.launch.overlay.escapes import Escapes
from flor.launch.overlay.guard import Guard
from flor.launch.overlay.looking import Looking
from flor.launch.overlay.opening import Opening
from flor.launch.overlay.patches import Patches
from flor.launch.overlay.scratch import INDUCTOR, PROCESSES, Scratch
from flor.launch.overlay.upper import Upper
from flor.launch.overlay.view import View

GLOBBER = getattr(glob, "_StringGlobber", object)
"""Behind pathlib's glob since Python 3.13; it has held functions of `os` since it was imported."""

LIBRARIES = foreign.LIBRARIES | {"sqlite3", INDUCTOR, PROCESSES}


class Overlay:
    """Sends the process's writes to `<folder>/files/<absolute path>` and reads them back from there.

    Paths are absolute and without links, as `os.path.realpath` gives them, in every method and callback.
    """

    def __init__(self, folder: Path, *, pass_through: Sequence[Path] = (), sockets: str = "") -> None:
        self.escapes = Escapes(Path(folder, "escapes"))
        self._view = View(folder, pass_through)
        self._upper = Upper(self._view)
        self._opening = Opening(self._view, self._upper)
        self._rooms = (Looking(self._view), Changing(self._view, self._upper))
        self._guard = Guard(self._view, self.escapes)
        self._scratch = Scratch(self._view, sockets)
        self._patches = Patches()
        self._arrivals = Arrivals(LIBRARIES, self._arrived)
        self._patched: set[str] = set()
        self._is_installed = False
        self._wrote_bytecode = sys.dont_write_bytecode

    @property
    def on_read(self) -> Callable[[str], None] | None:
        """Called once a path, before the script first reads a file that was there before and it has not replaced."""
        return self._opening.on_read

    @on_read.setter
    def on_read(self, hook: Callable[[str], None] | None) -> None:
        self._opening.on_read = hook

    @property
    def on_missing(self) -> Callable[[str], None] | None:
        """Called once a path, when the script looks for what `hide` keeps from it."""
        return self._view.on_missing

    @on_missing.setter
    def on_missing(self, hook: Callable[[str], None] | None) -> None:
        self._view.on_missing = hook

    @property
    def written(self) -> dict[str, str]:
        """Original path -> overlay path of every file that was written, changed or linked."""
        return {self._view.of_real(real): real for real in _files(self._view.files)}

    @property
    def folders(self) -> list[str]:
        """The original paths of the folders in which something was written or made, outer ones first."""
        return [self._view.of_real(real) for real in _folders(self._view.files)]

    @property
    def cwd(self) -> str | None:
        """The current folder, if only the overlay has it."""
        return self._view.cwd

    @property
    def removed(self) -> frozenset[str]:
        """Real paths that the script removed or renamed and has not made again."""
        gone = self._view.hidden - self._view.withheld
        return frozenset(path for path in gone if native.status(self._view.files + path) is None)

    def find(self, path: str | Path) -> Path | None:
        """Where the script's file really is now; None if it sees none."""
        place = self._view.spot(path).path
        real = self._view.locate(place)
        return Path(real) if real is not None and native.status(real) is not None else None

    def original(self, path: str) -> str:
        """A path to the file as the recorded run left it, for the functions of `native`."""
        return path

    def lose(self, path: str, size: int, time: int) -> None:
        """Let a file of that size and age be there whose content is not known: it is told if the script reads it."""
        if size < 0:
            return
        if self.find(path) is None:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                os.ftruncate(file.fileno(), size)
            os.utime(path, ns=(time, time))
        if (place := self.find(path)) is not None:
            found = native.stat(place)
            self._opening.blank[found.st_dev, found.st_ino] = path

    def forget_reads(self) -> None:
        """The state is put to a checkpoint's: what is read from now on is told anew."""
        self._opening.tell_again()
        self._view.tell_again()

    def tell_reads(self) -> None:
        """Nothing: readings are told at once."""

    def hide(self, path: str | Path) -> None:
        """Let the script begin without this file or folder, as if it had not been made yet."""
        place = self._view.spot(path, follow=False).path
        self._view.hidden.add(place)
        self._view.withheld.add(place)
        self._view.forget_links()

    def install(self) -> None:
        """Patch the process; nothing if it is done already."""
        if self._is_installed:
            return
        if builtins.open is not native.OPEN:
            raise UsageError("another overlay is installed in this process", todo="remove it first")
        os.makedirs(self._view.files, exist_ok=True)
        self._wrote_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        self._patch_os()
        self._scratch.start(self._patches)
        self._arrivals.start()
        self._patches.spread()
        self._is_installed = True
        self._guard.start()

    def remove(self) -> None:
        """Take every patch out again; what was written stays in the folder."""
        if not self._is_installed:
            return
        self._is_installed = False
        self._guard.stop()
        self._arrivals.stop()
        self._scratch.stop()
        self._patches.undo()
        self._patched.clear()
        sys.dont_write_bytecode = self._wrote_bytecode

    def __enter__(self) -> Overlay:
        self.install()
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def patch_torch(self, torch: ModuleType) -> None:
        """Patch torch's own file writers; done by itself when torch is imported while the overlay is installed."""
        if self._is_installed:
            self._arrived(torch.__name__, torch)

    def _patch_os(self) -> None:
        functions: dict[str, Any] = {"open": self._opening.os_open}
        for room in self._rooms:
            functions |= room.functions()
        for name, call in functions.items():
            if name in native.OS:
                self._patches.function(os, name, call)
                for members in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
                    self._patches.join(members, native.OS[name])
        for name, held in list(vars(GLOBBER).items()):
            if isinstance(held, staticmethod) and held.__func__ is native.OS.get(name):
                self._patches.attribute(GLOBBER, name, staticmethod(getattr(os, name)))
        self._patches.function(io, "open", self._opening.open)
        builtins.open = io.open

    def _arrived(self, name: str, module: ModuleType) -> None:
        if name in self._patched:
            return
        self._patched.add(name)
        if name == "sqlite3":
            databases.patch(module, self._patches, self._opening)
        elif name in (INDUCTOR, PROCESSES):
            self._scratch.arrived(name, module, self._patches)
        else:
            foreign.patch(name, self._patches, self._placing)
        if self._is_installed:  # else `install` does it, once for all
            self._patches.spread()

    def _placing(self, path: Any, flags: int) -> Any:
        """The path for code that is not Python's: as given if it leads to the same file."""
        real = self._opening.place(path, flags)
        if not flags and real == self._view.spot(path).path and self._view.cwd is None:
            return path
        return os.fsencode(real) if isinstance(path, bytes) else real


def _folders(folder: str) -> Iterator[str]:
    for name in native.listdir(folder) if native.is_directory(folder) else ():
        whole = f"{folder}/{name}"
        if native.is_directory(whole):
            yield whole
            yield from _folders(whole)


def _files(folder: str) -> Iterator[str]:
    for name in native.listdir(folder) if native.is_directory(folder) else ():
        whole = f"{folder}/{name}"
        if native.is_directory(whole):
            yield from _files(whole)
        else:
            yield whole
