"""Copies made beside training, of memory that nothing changes before the next step of an optimizer.

That it did not change is not taken on trust: the step waits for the copies, version counters are compared, and so is a
sample of each piece, taken while training stood still. A counter moves only when an operator is over, so the last word
has the training thread, at a moment when none is under way. Whoever fails that was not copied at all.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import weakref
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from flor.state import regions
from flor.state.hashing import Hashing
from flor.state.regions import Interval, Use, Version

PIECE = 1 << 20  # bytes: less than a millisecond, and still in the processor's cache when it is hashed
SAMPLES = 64  # bytes of each interval


class Piece(NamedTuple):
    """Some bytes to be copied, and the hash of the copy of which they are a part."""

    target: int
    source: int
    nbytes: int
    hashing: Hashing
    start: int  # of these bytes in what is hashed


@dataclass
class LateCopy:
    """The pieces of one snapshot that are still to be copied; any thread may help."""

    pieces: deque[Piece] = field(default_factory=deque)
    owners: list[Any] = field(default_factory=list)
    samples: list[tuple[memoryview, bytes]] = field(default_factory=list)  # of a copy, and as it must look
    versions: list[tuple[weakref.ref[Any], int]] = field(default_factory=list)
    views: list[Version] = field(default_factory=list)  # of whoever else looks into that memory
    pid: int = field(default_factory=os.getpid)
    thread: int = field(default_factory=threading.get_ident)  # training's
    compiled: int = field(default_factory=lambda: compilations())
    sound: bool = True
    _left: int = 0
    _lock: Any = field(default_factory=threading.Lock)
    _done: threading.Event = field(default_factory=threading.Event)
    _confirmed: threading.Event = field(default_factory=threading.Event)

    @property
    def is_empty(self) -> bool:
        """True if there never was anything to copy."""
        return not self.versions

    @property
    def is_copied(self) -> bool:
        """True if nothing is left to copy."""
        return self._done.is_set()

    def add(self, use: Use, ranges: list[Interval], buffer: Any, tensors: Iterable[Any]) -> Hashing:
        """One region, whose bytes belong into that buffer; called while training stands still."""
        region = use.region
        self.owners.append(region.owner)
        self.versions += [(weakref.ref(tensor), tensor._version) for tensor in tensors]
        self.views += [view.version for view in use.views if isinstance(view.version, Version)]
        target, start, hashing = regions.address_of(buffer), 0, Hashing(memoryview(buffer))
        for low, high in ranges:
            self._sample(memoryview(buffer)[start : start + high - low], region.address + low)
            for at in range(low, high, PIECE):
                count = min(PIECE, high - at)
                self.pieces.append(Piece(target + start, region.address + at, count, hashing, start))
                start += count
        self._left = len(self.pieces)
        return hashing

    def _sample(self, copy: memoryview, address: int) -> None:
        stride = max(1, len(copy) // SAMPLES) // 4 * 4 + 1  # every byte of an item comes up
        self.samples.append((copy[::stride], regions.view(address, len(copy))[::stride].tobytes()))

    def finish(self) -> None:
        """Copy what is left and come back when all is copied; the first to come does most of it."""
        if os.getpid() != self.pid:
            return  # a forked child: the copies, and the memory for them, are its parent's
        try:
            self._copy()
            self._done.wait()
        except BaseException:  # Ctrl-C in the midst of it: a piece may be lost, so nobody waits for it
            self.sound = False
            self._done.set()
            self._confirmed.set()
            raise

    def confirm(self) -> None:
        """The last word: called by the training thread once all is copied, when none of its operators is under way."""
        if not self._confirmed.is_set():
            self.sound = self.sound and self._versions_are_kept()
            self._confirmed.set()

    def conclude(self) -> None:
        """Come back when all is copied and confirmed; the training thread does that itself."""
        self.finish()
        if threading.get_ident() == self.thread:
            self.confirm()
        elif os.getpid() == self.pid:
            self._confirmed.wait()

    def _copy(self) -> None:
        waited_for = threading.get_ident() == self.thread
        while True:
            try:
                piece = self.pieces.popleft()
            except IndexError:
                return
            ctypes.memmove(piece.target, piece.source, piece.nbytes)  # releases the GIL
            if not waited_for:
                piece.hashing.go_on(piece.start, piece.nbytes)
            with self._lock:
                self._left -= 1
                last = not self._left
            if last:
                self._settle()

    def _settle(self) -> None:
        try:
            kept = self._versions_are_kept()
            self.sound = self.sound and kept and all(copy == bytes_then for copy, bytes_then in self.samples)
        except Exception:
            self.sound = False
        finally:
            self.owners.clear()
            self.samples.clear()
            self._done.set()

    def _versions_are_kept(self) -> bool:
        for reference, version in self.versions:
            tensor = reference()
            if tensor is None or tensor._version != version:
                return False
        views = ((view.tensor(), view.count) for view in self.views)
        return compilations() == self.compiled and all(tensor is None or tensor._version == n for tensor, n in views)


def compilations() -> int:
    """How many frames torch.compile has looked at in this process."""
    counters = getattr(sys.modules.get("torch._dynamo.utils"), "counters", None)
    return sum(counters["frames"].values()) if counters else 0
