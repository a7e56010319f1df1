"""Where a path lives: in the overlay's folder, outside, or nowhere any more."""

from __future__ import annotations

import errno
import os
import stat as modes
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from flor.launch.devices import DEVICES, is_device
from flor.launch.overlay import native

LINKS = 40  # as many as the kernel follows before it calls it a loop
REMEMBERED = 8192


class Spot(NamedTuple):
    """A path of the script: as it gave it, without links, and where its overlay copy is or would be."""

    shown: Any
    path: str
    upper: str
    passes: bool


class View:
    """The file system as the script sees it: the overlay's files over the real ones, less what was deleted.

    A hidden path hides the real file or folder there and all below it, for good: what is created there
    later is in the overlay, which is looked at first. So a folder that is removed and made again is empty.
    """

    def __init__(self, folder: Path, pass_through: Iterable[Path]) -> None:
        self.folder = os.path.realpath(folder)
        self.files = f"{self.folder}/files"
        self.hidden: set[str] = set()
        self.withheld: set[str] = set()
        self.on_missing: Callable[[str], None] | None = None
        self.cwd: str | None = None  # set while the script is in a folder that only the overlay has
        self._told: set[str] = set()
        self._resolved: dict[str, str] = {}
        self._passing: tuple[str, ...] = ()
        self._roots: set[str] = {prefix.rstrip("/") for prefix in DEVICES}
        for path in (self.folder, *map(os.path.realpath, pass_through)):
            self.let_pass(f"{path}/")

    def let_pass(self, prefix: str) -> None:
        """Leave every path that begins so alone."""
        self._passing += (prefix,)
        self._roots.add(prefix.rstrip("/"))

    def passes(self, path: str) -> bool:
        """True if the overlay leaves this path alone."""
        return path.startswith(self._passing) or path in self._roots or is_device(path)

    def spot(self, shown: Any, dir_fd: int | None = None, follow: bool = True) -> Spot:
        """The place that the script means."""
        path, _ = self._find(shown, dir_fd, follow)
        return Spot(shown, path, self.files + path, self.passes(path))

    def seen(self, shown: Any, dir_fd: int | None = None, follow: bool = True) -> str:
        """The real path of what the script means, for reading; raises if that was deleted."""
        path, real = self._find(shown, dir_fd, follow)
        if real is None:
            self._tell_missing(path)
            raise self.absent(path, shown)
        return real

    def _find(self, shown: Any, dir_fd: int | None, follow: bool) -> tuple[str, str | None]:
        path = self.absolute(shown, dir_fd)
        if is_device(path):  # before links are followed: /proc/self differs after a fork
            return path, path
        try:
            path, real = self._walk(path, follow or path.endswith("/"), 0)
        except OSError as error:
            error.filename = shown
            raise
        return path or "/", real

    def absolute(self, shown: Any, dir_fd: int | None = None) -> str:
        """The path from the root, as spelled."""
        path = os.fsdecode(shown)
        if not path:
            raise native.trouble(errno.ENOENT, shown)
        if path.startswith("/"):
            return path
        origin = None if dir_fd is None else self.of_descriptor(dir_fd)
        return f"{origin or self.cwd or native.getcwd()}/{path}"

    def of_descriptor(self, descriptor: int) -> str | None:
        """The path that an open file or folder has in the script's eyes; None for pipes and the like."""
        try:
            real = str(native.readlink(f"/proc/self/fd/{descriptor}"))
        except OSError:
            return None
        return self.of_real(real) if real.startswith("/") and not real.endswith(" (deleted)") else None

    def of_real(self, real: str) -> str:
        """The path by which the script knows a real one."""
        return real[len(self.files) :] if real.startswith(f"{self.files}/") else real

    def _walk(self, path: str, follow: bool, depth: int) -> tuple[str, str | None]:
        """The path without links, `.` and `..`, as the script would find it, and its real one; root is empty."""
        head, _, tail = path.rstrip("/").rpartition("/")
        parent = self._parent(head, depth) if head else ""
        if tail in ("", ".", ".."):
            whole = parent.rpartition("/")[0] if tail == ".." else parent
            return whole, self.locate(whole or "/")
        whole = f"{parent}/{tail}"
        real = self.locate(whole)
        found = native.status(real) if follow and real is not None else None
        if real is None or found is None or not modes.S_ISLNK(found.st_mode):
            return whole, real
        if depth > LINKS:
            raise native.trouble(errno.ELOOP, path)
        target = str(native.readlink(real))
        return self._walk(target if target.startswith("/") else f"{parent}/{target}", True, depth + 1)

    def _parent(self, head: str, depth: int) -> str:
        known = self._resolved.get(head)
        if known is None:
            if len(self._resolved) > REMEMBERED:
                self._resolved.clear()
            known = self._resolved[head] = self._walk(head, True, depth)[0]
        return known

    def forget_links(self) -> None:
        """A folder or a link moved: paths lead elsewhere now."""
        self._resolved.clear()

    def locate(self, path: str) -> str | None:
        """The real path to look at; None if the script must not find anything there."""
        if self.passes(path):
            return path
        upper = self.files + path
        if native.status(upper) is not None:
            return upper
        return None if self.hidden and self.is_hidden(path) else path

    def absent(self, path: str, shown: Any) -> OSError:
        """The error for a path with nothing at it: it matters to the system whether a file stands in its way."""
        found = None
        while found is None and path:
            path = path.rpartition("/")[0]
            found = self.status(path or "/")
        is_blocked = found is not None and not modes.S_ISDIR(found.st_mode)
        return native.trouble(errno.ENOTDIR if is_blocked else errno.ENOENT, shown)

    def is_hidden(self, path: str) -> bool:
        """True if the real file at the path is deleted in the script's eyes."""
        return bool(self.hidden) and self._cover(path, self.hidden)

    @staticmethod
    def _cover(path: str, covers: set[str]) -> bool:
        while path:
            if path in covers:
                return True
            path = path.rpartition("/")[0]
        return False

    def _tell_missing(self, path: str) -> None:
        if self.on_missing is None or path in self._told or not self._cover(path, self.withheld):
            return
        if native.status(path) is not None:
            self._told.add(path)
            self.on_missing(path)

    def tell_again(self) -> None:
        """Say of each path anew that it is missing."""
        self._told.clear()

    def below(self, path: str) -> bool:
        """True if the real file at the path is there and not hidden."""
        return not self.is_hidden(path) and native.status(path) is not None

    def status(self, path: str) -> os.stat_result | None:
        """What the script finds at the path itself; None if nothing."""
        real = self.locate(path)
        return None if real is None else native.status(real)

    def has_folder(self, path: str) -> bool:
        """True if the script sees the folder that the path is in."""
        found = self.status(path.rpartition("/")[0] or "/")
        return found is not None and modes.S_ISDIR(found.st_mode)

    def hide(self, path: str) -> None:
        """Delete the real file at the path in the script's eyes."""
        if self.below(path):
            self.hidden.add(path)

    def names(self, path: str) -> list[str]:
        """What the script finds in a folder: the real names less the hidden ones, then those of the overlay."""
        upper = self.files + path
        ours = native.listdir(upper) if native.is_directory(upper) else []
        if self.is_hidden(path) or not native.is_directory(path):
            return ours
        real = self._not_hidden(path.rstrip("/"), native.listdir(path))
        known = set(real)
        return real + [name for name in ours if name not in known]

    def _not_hidden(self, stem: str, names: list[str]) -> list[str]:
        left_out = {name for name in names if f"{stem}/{name}" in self.hidden}
        for name in left_out:
            self._tell_missing(f"{stem}/{name}")
        return [name for name in names if name not in left_out]

    def untouched(self, path: str) -> bool:
        """True if the folder is as it is outside, so that a native listing is right."""
        if self.passes(path):
            return True
        if native.status(self.files + path) is not None or self.is_hidden(path):
            return False
        stem = path.rstrip("/") + "/"
        return not any(hidden.startswith(stem) for hidden in self.hidden)
