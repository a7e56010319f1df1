"""The kernel's inotify: what happens to files and in folders, whoever does it."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator
from typing import NamedTuple

ACCESS, MODIFY, CLOSE_NOWRITE = 1 << 0, 1 << 1, 1 << 4
MOVED_FROM, MOVED_TO, CREATE, DELETE = 1 << 6, 1 << 7, 1 << 8, 1 << 9
OVERFLOW, ONLY_FOLDERS, IS_FOLDER = 1 << 14, 1 << 24, 1 << 30
HEADER = struct.Struct("iIII")  # watch, what happened, cookie, length of the name behind it

_LIBC = ctypes.CDLL(None, use_errno=True)


class Event(NamedTuple):
    """One thing that happened: the number of the watch, what it was, and the name inside a watched folder."""

    watch: int
    what: int
    name: str


class Inotify:
    """One queue of events; where the kernel has none, nothing is ever heard."""

    def __init__(self) -> None:
        self.descriptor: int = _LIBC.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)

    def watch(self, path: str, what: int) -> int | None:
        """The number of a watch for these events; None if it is not possible."""
        number: int = _LIBC.inotify_add_watch(self.descriptor, os.fsencode(path), ctypes.c_uint32(what))
        return number if number >= 0 else None

    def events(self) -> Iterator[Event]:
        """What has happened since the last call."""
        while self.descriptor >= 0:
            try:
                data = os.read(self.descriptor, 1 << 16)
            except BlockingIOError:
                return
            at = 0
            while at < len(data):
                watch, what, _, length = HEADER.unpack_from(data, at)
                at += HEADER.size + length
                yield Event(watch, what, os.fsdecode(data[at - length : at].rstrip(b"\0")))
