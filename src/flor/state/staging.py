"""Private memory for copies, used again from one snapshot to the next: fresh pages cost more than the copy."""

from __future__ import annotations

import mmap
import threading
from collections import defaultdict
from typing import Any

LARGE = 1 << 16
KEEP = 2
"""At most so many free buffers of one size: two snapshots are staged at once, never more."""


class Staging:
    """Free buffers by size."""

    def __init__(self) -> None:
        self._free: dict[int, list[Any]] = defaultdict(list)
        self._lock = threading.Lock()

    def take(self, nbytes: int) -> Any:
        """A writable buffer of exactly this size; page-aligned if it is large."""
        with self._lock:
            if self._free[nbytes]:
                return self._free[nbytes].pop()
        return mmap.mmap(-1, nbytes) if nbytes >= LARGE else bytearray(nbytes)

    def give(self, buffer: Any) -> None:
        """A buffer back; nobody may look at it any more."""
        with self._lock:
            free = self._free[len(buffer)]
            if len(buffer) >= LARGE and len(free) < KEEP * 64:
                free.append(buffer)
