"""Opening files: for reading where they are, for writing in the overlay."""

from __future__ import annotations

import errno
import os
import stat as modes
from collections.abc import Callable
from typing import Any

from flor.launch.overlay import native
from flor.launch.overlay.upper import Upper
from flor.launch.overlay.view import Spot, View

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
TEMPORARY = getattr(os, "O_TMPFILE", 0)
MODES = {"w": os.O_WRONLY | os.O_CREAT | os.O_TRUNC, "x": os.O_WRONLY | os.O_CREAT | os.O_EXCL}
MODES |= {"a": os.O_WRONLY | os.O_CREAT | os.O_APPEND, "+": os.O_RDWR}


class Opening:
    """The built-in open and os.open, and where any other code may open a path."""

    def __init__(self, view: View, upper: Upper) -> None:
        self.view, self.upper = view, upper
        self.on_read: Callable[[str], None] | None = None
        self.blank: dict[tuple[int, int], str] = {}  # device and inode of files that lack their content -> path
        self._inherited: set[str] = set()  # copied with their content, so a read of them still reads the original
        self._told: set[str] = set()

    def open(
        self,
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Any = None,
    ) -> Any:
        """The built-in open"""
        rest = (mode, buffering, encoding, errors, newline, closefd)
        if isinstance(file, int) or not isinstance(mode, str):
            return native.OPEN(file, *rest, opener)
        if opener is not None and closefd:
            opened = _open_by(opener, file, rest)
        else:
            opened = native.call(native.OPEN, self.place(file, _flags(mode)), file, *rest, opener)
        _rename(opened, os.fspath(file))
        return opened

    def os_open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        """os.open"""
        descriptor: int = native.call(native.open, self.place(path, flags, dir_fd), path, flags, mode)
        return descriptor

    def place(self, shown: Any, flags: int, dir_fd: int | None = None) -> str:
        """The real path to open with these flags, made ready for it."""
        if not flags & WRITES:
            return self._for_reading(shown, flags, dir_fd)
        exclusive = flags & os.O_CREAT and flags & os.O_EXCL
        spot = self.view.spot(shown, dir_fd, follow=not (exclusive or flags & os.O_NOFOLLOW))
        if spot.passes:
            return spot.path
        found = self.view.status(spot.path)
        if found is None:
            if not flags & os.O_CREAT:
                raise self.view.absent(spot.path, shown)
            return self.upper.make_room(spot)
        if exclusive:
            raise native.trouble(errno.EEXIST, shown)
        return self._for_writing(spot, found, flags)

    def _for_reading(self, shown: Any, flags: int, dir_fd: int | None) -> str:
        real = self.view.seen(shown, dir_fd, follow=not flags & os.O_NOFOLLOW)
        if self.blank:
            self._tell_blank(real)
        if self.on_read is not None:
            self._tell(self.view.of_real(real), real)
        return real

    def _for_writing(self, spot: Spot, found: os.stat_result, flags: int) -> str:
        if modes.S_ISDIR(found.st_mode):
            if not TEMPORARY or flags & TEMPORARY != TEMPORARY:
                raise native.trouble(errno.EISDIR, spot.shown)
            return self.upper.copy(spot.path)
        if not modes.S_ISREG(found.st_mode):
            return self.view.locate(spot.path) or spot.path  # a pipe or a device: nothing is kept in it
        keeps = not flags & os.O_TRUNC
        if keeps and self.view.locate(spot.path) == spot.path:
            self._inherited.add(spot.path)
            if flags & os.O_RDWR:
                self._tell(spot.path, spot.path)
        elif not keeps:
            self._inherited.discard(spot.path)
            self.blank.pop((found.st_dev, found.st_ino), None)
        elif self.blank and flags & os.O_RDWR:
            self._tell_blank(spot.upper)
        return self.upper.copy(spot.path, content=keeps)

    def tell_again(self) -> None:
        """Say of each file anew that it is read."""
        self._told.clear()

    def _tell_blank(self, real: str) -> None:
        """Say that a file without its content is read, under the name that it had when that was lost."""
        found = native.status(real)
        path = self.blank.get((found.st_dev, found.st_ino)) if found is not None else None
        if path is not None and self.on_read is not None:
            self.on_read(path)

    def _tell(self, path: str, real: str) -> None:
        """Say, once, that the script is about to read what was there before it."""
        if self.on_read is None or path in self._told or self.view.passes(path):
            return
        is_original = real == path or (path in self._inherited and not self.view.is_hidden(path))
        found = native.status(real) if is_original else None
        if found is not None and modes.S_ISREG(found.st_mode):
            self._told.add(path)
            self.on_read(path)


def _flags(mode: str) -> int:
    """What a mode of the built-in open asks for; a wrong one is left for it to refuse."""
    flags = os.O_RDONLY
    for letter in mode:
        flags |= MODES.get(letter, 0)
    return flags & ~os.O_WRONLY if flags & os.O_RDWR else flags


def _open_by(opener: Any, file: Any, rest: tuple[Any, ...]) -> Any:
    """What the script's opener opens, which is by os.open: only there it is known whether `file` is meant at all."""
    descriptor = opener(os.fspath(file), _flags(rest[0]) | os.O_CLOEXEC)
    if descriptor < 0:
        raise ValueError(f"opener returned {descriptor}")
    try:
        return native.OPEN(descriptor, *rest)
    except BaseException:
        native.close(descriptor)
        raise


def _rename(opened: Any, name: Any) -> None:
    """Let the file say the name that the script gave."""
    raw = getattr(opened, "buffer", opened)
    raw = getattr(raw, "raw", raw)
    if raw.name != name:
        raw.name = name
