"""The files of a replay in a namespace of its own: the script's calls go to the kernel, which keeps the files apart."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from flor.launch.overlay import native
from flor.launch.overlay.escapes import NAMED, Escapes
from flor.launch.overlay.patches import Patches
from flor.launch.wall.namespace import Namespace, enter
from flor.launch.wall.readings import Readings


class KernelLayer:
    """What `Overlay` does in Python, by the kernel; so it holds for C code and for child processes too."""

    cwd: str | None = None

    def __init__(
        self,
        folder: Path,
        *,
        pass_through: Sequence[Path] = (),
        expected: Sequence[str] = (),
        shown: tuple[str, str] = ("", ""),
    ) -> None:
        self.escapes = Escapes(folder / "escapes")
        self.on_read: Callable[[str], None] | None = None
        self.on_missing: Callable[[str], None] | None = None
        self.upper = os.path.realpath(folder / "files")
        scratch = folder / "scratch"
        for made in (Path(self.upper), scratch):
            made.mkdir(parents=True, exist_ok=True)
        self.namespace: Namespace = enter(
            Path(self.upper),
            scratch=scratch,
            pass_through=[folder, *pass_through],
            expected=expected,
            shown=shown,
        )
        self.readings = Readings()
        self._patches = Patches()
        self._is_installed = False

    def install(self) -> None:
        """Note the programs that are started from now on; let folders be renamed that the kernel can't rename."""
        self._is_installed = True
        sys.addaudithook(self._heard)
        for name in ("rename", "replace"):
            self._patches.function(os, name, _renaming(native.OS[name]))
        self._patches.spread()

    def _heard(self, event: str, args: tuple[Any, ...]) -> None:
        if event in NAMED and self._is_installed:
            self.escapes.heard(event, args)
        elif event == "open" and self.readings.watched and _empties(args):
            self.readings.replaced(os.path.realpath(args[0]))

    def original(self, path: str) -> str:
        """A path to the file as the recorded run left it."""
        return self.namespace.original(path)

    def find(self, path: str | Path) -> Path | None:
        """Where the script's file is now; None if it sees none."""
        place = Path(path)
        return place if os.path.lexists(place) else None

    def hide(self, path: str | Path) -> None:
        """Let the script begin without this file or folder, as if it had not been made yet."""
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        elif os.path.lexists(path):
            os.unlink(path)

    def lose(self, path: str, size: int, time: int) -> None:
        """Put a file of that size and age in place whose content is not known, and watch whether it is read."""
        if size >= 0 and not os.path.isfile(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.truncate(size)
            os.utime(path, ns=(time, time))
        self.readings.watch(path)

    def forget_reads(self) -> None:
        """The state is put to a checkpoint's: what was read before that does not matter any more."""
        self.readings.forget()

    def tell_reads(self) -> None:
        """Tell of the watched files that were read."""
        for path in self.readings.found():
            if self.on_read is not None:
                self.on_read(path)

    def patch_torch(self, torch: ModuleType) -> None:
        """Nothing: the kernel sees what torch writes."""


def _renaming(rename: Any) -> Any:
    """os.rename for an overlay of a user who is no administrator: it refuses folders of the real file system."""

    def call(src: Any, dst: Any, **folders: Any) -> None:
        try:
            rename(src, dst, **folders)
        except OSError as error:
            if error.errno != errno.EXDEV or folders or not os.path.isdir(src) or os.path.lexists(dst):
                raise
            shutil.copytree(src, dst, symlinks=True)
            shutil.rmtree(src)

    return call


def _empties(args: tuple[Any, ...]) -> bool:
    path, _, flags = args
    return isinstance(path, (str, bytes, os.PathLike)) and isinstance(flags, int) and bool(flags & os.O_TRUNC)


def delete(folder: Path) -> None:
    """Delete a layer; the kernel leaves folders in it that nobody may enter."""
    for name in ("scratch", "files"):
        for inner, names, _ in os.walk(folder / name):
            for made in names:
                place = Path(inner, made)
                if not place.is_symlink():
                    place.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
