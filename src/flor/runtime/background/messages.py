"""What goes between training and the process that logs: calls with their arrays in shared memory, and answers."""

from __future__ import annotations

import mmap
import pickle
import struct
import sys
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from flor.runtime.background.memory import aligned
from flor.runtime.background.snapshots import freeze, size_of

NOTICE = struct.Struct("<QQQQ")  # number, start, stop, where the pickled part begins
ANSWER = struct.Struct("<QQQQ")  # number, logger, size of its file, length of the error that follows
LENGTH = struct.Struct("<Q")
OPEN, EVENT, CLOSE = "open", "event", "close"  # besides the methods of a writer
NOBODY = (1 << 64) - 1  # as a logger: the process speaks of itself


class Opening(NamedTuple):
    """What the other process needs to go on with a logger: its event file and its plain attributes."""

    path: str
    attributes: dict[str, Any]
    size: int  # the length of the file as far as it is known to be whole


class ArrayAt(NamedTuple):
    """Stands for an array whose bytes are in shared memory, relative to its message."""

    library: str  # "torch" or "numpy"
    dtype: Any
    shape: tuple[int, ...]
    offset: int


@dataclass
class Message:
    """A call to be put in shared memory: first its arrays, then the pickled rest."""

    logger: int
    method: str
    args: Any
    kwargs: Any
    arrays: list[tuple[int, Any]] = field(default_factory=list)
    size: int = 0
    pickled: bytes = b""

    def __post_init__(self) -> None:
        self.args, self.kwargs = freeze((self.args, self.kwargs), self._take)
        self.pickled = pickle.dumps((self.logger, self.method, self.args, self.kwargs), pickle.HIGHEST_PROTOCOL)

    @property
    def length(self) -> int:
        """The bytes that it needs."""
        return self.size + len(self.pickled)

    def _take(self, array: Any) -> ArrayAt:
        at = self.size
        self.arrays.append((at, array))
        self.size += aligned(size_of(array))
        library = "torch" if hasattr(array, "detach") else "numpy"
        return ArrayAt(library, array.dtype, tuple(array.shape), at)

    def write(self, memory: mmap.mmap, start: int) -> None:
        """Copy everything to its place: this is what the training thread pays."""
        for offset, array in self.arrays:
            if size_of(array):
                put(memory, start + offset, array)
        begin = start + self.size
        memory[begin : begin + len(self.pickled)] = self.pickled


def put(memory: mmap.mmap, at: int, array: Any) -> None:
    """Copy an array's bytes into the memory, from whatever device and strides."""
    if hasattr(array, "detach"):
        torch = sys.modules["torch"]
        place = torch.frombuffer(memory, dtype=array.dtype, count=array.numel(), offset=at)
        place.view(array.shape).copy_(array.detach())
    else:
        numpy = sys.modules["numpy"]
        place = numpy.frombuffer(memory, dtype=array.dtype, count=array.size, offset=at)
        place.reshape(array.shape)[...] = array


def read(memory: mmap.mmap, start: int, stop: int, rest: int) -> tuple[int, str, tuple[Any, ...], dict[str, Any]]:
    """The call again, its arrays being views of the memory."""
    logger, method, args, kwargs = pickle.loads(memory[rest:stop])
    return logger, method, thaw(args, memory, start), thaw(kwargs, memory, start)


def thaw(value: Any, memory: mmap.mmap, start: int) -> Any:
    """The value with its arrays back in their places."""
    kind = type(value)
    if kind is ArrayAt:
        return array_at(value, memory, start)
    if kind in (list, tuple, set, frozenset):
        return kind([thaw(item, memory, start) for item in value])
    if isinstance(value, dict):
        return kind([(key, thaw(item, memory, start)) for key, item in value.items()])
    return value


def array_at(place: ArrayAt, memory: mmap.mmap, start: int) -> Any:
    """A view of the memory as what was given."""
    count = 1
    for side in place.shape:
        count *= side
    if place.library == "torch":
        import torch

        if not count:
            return torch.empty(place.shape, dtype=place.dtype)
        return torch.frombuffer(memory, dtype=place.dtype, count=count, offset=start + place.offset).view(place.shape)
    import numpy

    if not count:
        return numpy.empty(place.shape, place.dtype)
    return numpy.frombuffer(memory, place.dtype, count, start + place.offset).reshape(place.shape)
