"""Which of some files were read, by whatever code of this process and its children: the kernel's inotify tells."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator

ACCESS, CLOSE_NOWRITE, OVERFLOW = 1 << 0, 1 << 4, 1 << 14
HEADER = struct.Struct("iIII")  # watch, what happened, cookie, length of the name behind it

_LIBC = ctypes.CDLL(None, use_errno=True)


class Readings:
    """Watches files until they are read or replaced."""

    def __init__(self) -> None:
        self.descriptor: int = _LIBC.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        self.watched: dict[int, str] = {}
        self.read: list[str] = []
        self.overflowed = False  # so much happened that the kernel has dropped some of it

    def watch(self, path: str) -> bool:
        """Watch one more file; False if that is not possible."""
        number: int = _LIBC.inotify_add_watch(self.descriptor, os.fsencode(path), ACCESS | CLOSE_NOWRITE)
        if number >= 0:
            self.watched[number] = path
        return number >= 0

    def replaced(self, path: str) -> None:
        """The script gives the file a content of its own: to read that is no matter."""
        if path in self.watched.values():
            self.found()
            self.watched = {number: watched for number, watched in self.watched.items() if watched != path}

    def forget(self) -> None:
        """What was read until now does not count, and nothing is watched any more."""
        self.found()
        self.watched, self.read, self.overflowed = {}, [], False

    def found(self) -> list[str]:
        """The files that were read so far, in the order of their first reading; all, if that can't be told."""
        for number, event in self._events():
            path = self.watched.get(number) if event & (ACCESS | CLOSE_NOWRITE) else None
            self.overflowed |= bool(event & OVERFLOW)
            if path is not None and path not in self.read:
                self.read.append(path)
        return [*self.read, *(self.watched.values() if self.overflowed else ())]

    def _events(self) -> Iterator[tuple[int, int]]:
        while True:
            try:
                data = os.read(self.descriptor, 1 << 16)
            except BlockingIOError:
                return
            at = 0
            while at < len(data):
                number, event, _, length = HEADER.unpack_from(data, at)
                at += HEADER.size + length
                yield number, event
