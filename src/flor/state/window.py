"""Live memory read by way of the system: memory that is gone by now is an error, not the end of the process."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from types import TracebackType

SIZE = 1 << 20  # bytes that are seen at a time; they stay in the processor's cache


class Window:
    """A small file in memory to which the system copies; a tensor's storage may be moved while we look."""

    def __init__(self) -> None:
        self._fd = -1
        with suppress(OSError, AttributeError):
            fd = os.memfd_create("flor", os.MFD_CLOEXEC)
            os.ftruncate(fd, SIZE)
            self._seen = mmap.mmap(fd, SIZE, mmap.MAP_SHARED, mmap.PROT_READ)
            self._fd = fd  # only now can it be looked through

    def __enter__(self) -> Window:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._fd >= 0:
            os.close(self._fd)

    def look(self, pieces: Iterable[memoryview]) -> Iterator[memoryview]:
        """The same bytes, each part valid until the next; OSError if some are not there any more."""
        for piece in pieces:
            if self._fd < 0:
                yield piece
                continue
            for start in range(0, len(piece), SIZE):
                count = os.pwrite(self._fd, piece[start : start + SIZE], 0)  # EFAULT instead of a signal; no GIL
                if count != min(SIZE, len(piece) - start):
                    raise OSError("memory ends in the midst of a tensor")
                yield memoryview(self._seen)[:count]
