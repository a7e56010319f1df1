"""Shared memory between training and the process that logs, given out in the order in which it comes back."""

from __future__ import annotations

import mmap
import os
import tempfile
from collections import deque
from typing import NamedTuple

ALIGNMENT = 64


class Block(NamedTuple):
    """A piece of the memory."""

    start: int
    stop: int


class SharedMemory:
    """A file without a name, mapped; it is only as large in memory as it was ever used."""

    def __init__(self, size: int) -> None:
        self.fd = make_file()
        self.blocks: deque[Block] = deque()
        self.resize(size)

    def resize(self, size: int) -> None:
        """Set its size; what is in use keeps its place."""
        os.ftruncate(self.fd, size)
        self.size = size
        self.map = mmap.mmap(self.fd, size)

    def fit(self, size: int) -> Block | None:
        """The next block of that size, or None while there is no room; an empty memory is used from its start again."""
        size = aligned(size)
        if not self.blocks:
            return self._placed(0, size, self.size)
        first, last = self.blocks[0].start, self.blocks[-1].stop
        if last <= first:  # it has gone round
            return self._placed(last, size, first)
        return self._placed(last, size, self.size) or self._placed(0, size, first)

    def release(self, block: Block) -> None:
        """A block is free again; it is the oldest, unless a signal handler logged while another call was being sent."""
        self.blocks.remove(block)

    def close(self) -> None:
        """Give it back to the system."""
        os.close(self.fd)

    def _placed(self, start: int, size: int, end: int) -> Block | None:
        if start + size > end:
            return None
        self.blocks.append(Block(start, start + size))
        return self.blocks[-1]


def make_file() -> int:
    """A file in memory where the system has such, else an unlinked temporary one."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("flor-background")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def aligned(size: int) -> int:
    """The size, rounded up so that whatever follows is aligned."""
    return -(-max(size, 1) // ALIGNMENT) * ALIGNMENT
