"""Memory that tensors and arrays look into: one region, however many views, torch's and numpy's alike."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from flor.state import loaded
from flor.state.snapshot import Node, Ref

Interval = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Region:
    """A piece of memory; `owner` keeps it allocated."""

    device: str
    address: int
    nbytes: int
    owner: Any
    writable: bool = True

    @property
    def key(self) -> Hashable:
        """What makes two regions the same memory; empty ones are told apart by their owner."""
        return (self.device, self.address) if self.nbytes else ("empty", owner_id(self.owner))


def owner_id(owner: Any) -> int:
    """An owner's identity: torch gives a new python object for one storage at every call."""
    return getattr(owner, "_cdata", None) or id(owner)


class Version:
    """A tensor's count of changes; another tensor at the same place never has an equal one."""

    __slots__ = ("count", "tensor")

    def __init__(self, tensor: Any) -> None:
        self.count: int = tensor._version
        self.tensor = weakref.ref(tensor)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Version) or self.count != other.count:
            return False
        mine = self.tensor()
        return mine is not None and mine is other.tensor()

    __hash__ = None  # type: ignore[assignment]


class View(NamedTuple):
    """One tensor or array that looks into a region; a version of None says that it may change unseen."""

    span: Interval
    dtype: str
    shape: list[int]
    version: Any


@dataclass(slots=True)
class Use:
    """How one capture uses a region: its node and all views of it."""

    ref: Ref
    node: Node
    region: Region
    views: list[View] = field(default_factory=list)

    def add(self, span: Interval, dtype: str, shape: list[int], version: Any) -> None:
        """One more view."""
        self.views.append(View(span, dtype, shape, version))

    @property
    def versions(self) -> tuple[Any, ...]:
        """Of every view, in order."""
        return tuple((view.span, view.version) if view.version is not None else None for view in self.views)


def merged(intervals: list[Interval]) -> list[Interval]:
    """The union, in order."""
    result: list[Interval] = []
    for low, high in sorted(interval for interval in intervals if interval[0] < interval[1]):
        if result and low <= result[-1][1]:
            result[-1] = (result[-1][0], max(high, result[-1][1]))
        else:
            result.append((low, high))
    return result


def view(address: int, nbytes: int) -> memoryview:
    """Live memory without a copy; whoever holds the view must hold its owner too."""
    if not nbytes:
        return memoryview(b"")
    return memoryview((ctypes.c_ubyte * nbytes).from_address(address)).cast("B")


def address_of(buffer: Any) -> int:
    """Where a writable buffer is."""
    return ctypes.addressof(ctypes.c_char.from_buffer(buffer))


def pieces(region: Region, intervals: list[Interval]) -> Iterator[memoryview]:
    """The live bytes of some intervals; those of another device as a copy on this one."""
    if region.device == "cpu":
        yield from (view(region.address + low, high - low) for low, high in intervals)
        return
    torch = loaded.torch()
    whole = torch.empty(0, dtype=torch.uint8, device=region.device).set_(region.owner)
    for low, high in intervals:
        here = whole[low:high].cpu()
        yield memoryview(bytes(view(here.data_ptr(), here.numel())))


def write(region: Region, intervals: list[Interval], data: memoryview) -> None:
    """Put saved bytes back where they were."""
    start = 0
    for low, high in intervals:
        part = data[start : start + high - low]
        start += high - low
        if region.device == "cpu":
            _write_here(region.address + low, part)
        else:
            _write_there(region, low, high, part)


def _write_here(address: int, part: memoryview) -> None:
    view(address, len(part))[:] = part


def _write_there(region: Region, low: int, high: int, part: memoryview) -> None:
    torch = loaded.torch()
    whole = torch.empty(0, dtype=torch.uint8, device=region.device).set_(region.owner)
    whole[low:high].copy_(torch.frombuffer(bytearray(part), dtype=torch.uint8))
