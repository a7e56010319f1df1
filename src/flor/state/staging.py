"""Private memory for copies, used again from one snapshot to the next: fresh pages cost many times the copy."""

from __future__ import annotations

import ctypes
import mmap
import threading
import time
from collections import Counter
from contextlib import suppress
from typing import Any

LARGE = 1 << 16
SNAPSHOTS = 2
"""Two snapshots are staged at once, never more: one is being written, one waits."""
SLICE = 1 << 24
ENOUGH = 1 << 20  # bytes: a smaller buffer says nothing about a rate


class Staging:
    """Free buffers by size; those in use and those free are together never more than two snapshots."""

    def __init__(self) -> None:
        self._free: dict[int, list[Any]] = {}
        self._lock = threading.Lock()
        self._held = 0  # bytes of all buffers, in use and free
        self._largest = 0  # bytes of the largest snapshot so far
        self.rate: float | None = None  # seconds a byte that a copy took, tried when memory was made ready

    @property
    def held(self) -> int:
        """Bytes of all buffers, in use and free."""
        return self._held

    def missing(self, sizes: Counter[int]) -> Counter[int]:
        """Of the buffers that a snapshot needs, those that are not there yet."""
        with self._lock:
            free = Counter({size: len(buffers) for size, buffers in self._free.items()})
        return sizes - free

    def expect(self, nbytes: int) -> None:
        """A snapshot of so many bytes is about to be taken."""
        with self._lock:
            self._largest = max(self._largest, nbytes)

    def take(self, nbytes: int) -> Any:
        """A writable buffer of exactly this size; page-aligned if it is large."""
        if nbytes < LARGE:
            return bytearray(nbytes)
        with self._lock:
            if free := self._free.get(nbytes):
                return free.pop()
        return self._make(nbytes)

    def give(self, buffer: Any) -> None:
        """A buffer back; nobody may look at it any more."""
        if len(buffer) < LARGE:
            return
        with self._lock:
            self._free.setdefault(len(buffer), []).append(buffer)
            self._drop_what_is_too_much()

    def warm(self, sizes: Counter[int]) -> None:
        """Make the buffers of one snapshot and touch their pages; meant for a thread other than training's."""
        self.expect(sum(size * count for size, count in sizes.items()))
        largest = max(sizes, default=0)
        for size in self.missing(sizes).elements():
            buffer = self._make(size)
            touch(buffer)
            if self.rate is None and size == largest >= ENOUGH:
                self.rate = rehearse(buffer)
            self.give(buffer)

    def _make(self, nbytes: int) -> Any:
        with self._lock:
            self._held += nbytes
            self._drop_what_is_too_much()
        try:
            return private(nbytes)
        except BaseException:
            with self._lock:
                self._held -= nbytes
            raise

    def _drop_what_is_too_much(self) -> None:
        """Sizes that are not asked for any more make room; the lock is held."""
        for size in list(self._free):
            free = self._free[size]
            while free and self._held > SNAPSHOTS * self._largest:
                free.pop()
                self._held -= size
            if not free:
                del self._free[size]


def private(nbytes: int) -> mmap.mmap:
    """Memory that forked children do not get, in huge pages where the system has them.

    Else every page would be copied on write after a DataLoader's fork, and it is not defined what a direct write beside
    a fork puts on disk. Of huge pages such a write pins hundreds, instead of tens of thousands.
    """
    buffer = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for advice in ("MADV_DONTFORK", "MADV_HUGEPAGE"):
        if hasattr(mmap, advice):
            with suppress(OSError):
                buffer.madvise(getattr(mmap, advice))
    return buffer


def touch(buffer: Any) -> None:
    """Have the system give the pages of a buffer, in slices without the interpreter's lock."""
    start = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
    for at in range(0, len(buffer), SLICE):
        ctypes.memset(start + at, 0, min(SLICE, len(buffer) - at))


def rehearse(buffer: Any) -> float:
    """Seconds a byte that a copy takes on this machine, the best of three: from the buffer's end to its beginning."""
    part = min(len(buffer) // 2, SLICE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
    seconds = []
    for _ in range(3):
        begun = time.perf_counter()
        ctypes.memmove(start, start + len(buffer) - part, part)
        seconds.append(time.perf_counter() - begun)
    return min(seconds) / part
