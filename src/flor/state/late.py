"""Copies made beside training, of memory that nothing changes before the next step of an optimizer.

That it did not change is not taken on trust: the step waits for the copies, version counters are compared, and so is a
sample of each piece, taken while training stood still. Whoever fails that was not copied at all.
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
from typing import Any

from flor.state import loaded, regions
from flor.state.regions import Interval, Region

PIECE = 1 << 21  # bytes: less than a millisecond
SAMPLES = 64  # bytes of each interval


@dataclass
class LateCopy:
    """The pieces of one snapshot that are still to be copied; any thread may help."""

    pieces: deque[tuple[int, int, int]] = field(default_factory=deque)  # to, from, bytes
    owners: list[Any] = field(default_factory=list)
    samples: list[tuple[memoryview, bytes]] = field(default_factory=list)  # of a copy, and as it must look
    versions: list[tuple[weakref.ref[Any], int]] = field(default_factory=list)
    pid: int = field(default_factory=os.getpid)
    compiled: int = field(default_factory=lambda: compilations())
    sound: bool = True
    _left: int = 0
    _lock: Any = field(default_factory=threading.Lock)
    _done: threading.Event = field(default_factory=threading.Event)

    @property
    def is_empty(self) -> bool:
        """True if there never was anything to copy."""
        return not self.versions

    def add(self, region: Region, ranges: list[Interval], buffer: Any, tensors: Iterable[Any]) -> None:
        """One region, whose bytes belong into that buffer; called while training stands still."""
        self.owners.append(region.owner)
        self.versions += [(weakref.ref(tensor), tensor._version) for tensor in tensors]
        target, start = regions.address_of(buffer), 0
        for low, high in ranges:
            self._sample(memoryview(buffer)[start : start + high - low], region.address + low)
            for at in range(low, high, PIECE):
                self.pieces.append((target + start + at - low, region.address + at, min(PIECE, high - at)))
            start += high - low
        self._left = len(self.pieces)

    def _sample(self, copy: memoryview, address: int) -> None:
        stride = max(1, len(copy) // SAMPLES) // 4 * 4 + 1  # every byte of an item comes up
        self.samples.append((copy[::stride], regions.view(address, len(copy))[::stride].tobytes()))

    def finish(self) -> None:
        """Copy what is left and come back when all is copied; the first to come does most of it."""
        if os.getpid() != self.pid:
            return  # a forked child: the copies, and the memory for them, are its parent's
        while True:
            try:
                target, source, count = self.pieces.popleft()
            except IndexError:
                break
            ctypes.memmove(target, source, count)  # releases the GIL
            with self._lock:
                self._left -= 1
                last = not self._left
            if last:
                self._settle()
        if self._left or not self._done.is_set():
            self._done.wait()

    def _settle(self) -> None:
        try:
            self.sound = self._unchanged()
        except BaseException:
            self.sound = False
        finally:
            self.owners.clear()
            self.samples.clear()
            self._done.set()

    def _unchanged(self) -> bool:
        for reference, version in self.versions:
            tensor = reference()
            if tensor is not None and tensor._version != version:
                return False
        return compilations() == self.compiled and all(copy == bytes_then for copy, bytes_then in self.samples)


class Barrier:
    """Stands before every step of every optimizer, and lets it through when what it will change is copied."""

    def __init__(self) -> None:
        self.pending: LateCopy | None = None
        self.trusted = True
        self._installed = False

    def usable(self) -> bool:
        """True if copies may be made late: nothing spoke against it so far."""
        return self.trusted and is_alone() and not compilations() and self._install()

    def watch(self, late: LateCopy) -> None:
        """From now on steps wait for these copies."""
        self.pending = late

    def settle(self) -> None:
        """Come back when nothing is left to copy."""
        late = self.pending
        if late is not None:
            late.finish()
            self.trusted &= late.sound
            self.pending = None

    def _install(self) -> bool:
        if not self._installed:
            register = loaded.attribute("torch.optim.optimizer", "register_optimizer_step_pre_hook")
            if register is None:
                return False
            register(self._before_step)
            self._installed = True
        return True

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if loaded.torch().compiler.is_compiling():
            return  # a compiler that traces the step sees an empty hook; from then on nothing is copied late
        if self.pending is not None:
            self.settle()


def is_alone() -> bool:
    """True if no other process trains with this one: sharded parameters move behind everybody's back."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return True
    return bool(distributed.get_world_size() == 1)


def compilations() -> int:
    """How many frames torch.compile has looked at in this process."""
    counters = getattr(sys.modules.get("torch._dynamo.utils"), "counters", None)
    return sum(counters["frames"].values()) if counters else 0


def is_hooked(optimizer: Any) -> bool:
    """True if its steps run torch's hooks."""
    return bool(getattr(type(optimizer).step, "hooked", False))
