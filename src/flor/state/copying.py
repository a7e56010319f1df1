"""Bulk data out of live memory: copied into staging buffers, or left where it is believed unchanged."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from flor.state import regions
from flor.state.closure import Moving
from flor.state.demand import Demand
from flor.state.hashing import content_of
from flor.state.late import LateCopy
from flor.state.memory import Memory, Remembered
from flor.state.regions import Interval, Region, Use
from flor.state.snapshot import Blob, Prediction, Snapshot

SMALL = 1 << 16
"""Smaller regions are always copied: that is cheap, and a BatchNorm's statistics change unseen."""

HASH_FIRST = 1 << 20
"""Larger numpy arrays are hashed in place, since nothing tells whether they changed."""

CODES = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "int64": "I64",
    "int32": "I32",
    "int16": "I16",
    "int8": "I8",
    "uint64": "U64",
    "uint32": "U32",
    "uint16": "U16",
    "uint8": "U8",
    "bool": "BOOL",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
}
WIDTHS = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1}
WIDTHS |= {"U64": 8, "U32": 4, "U16": 2, "U8": 1, "BOOL": 1, "F8_E4M3": 1, "F8_E5M2": 1}


@dataclass(slots=True)
class Taking:
    """A region of which a blob is to be made: the bytes that some view shows, and the name under which it is known."""

    use: Use
    ranges: list[Interval]
    nbytes: int
    known: str | None
    stepped: list[Any] | None = None  # the tensors in it, if nothing but an optimizer's step changes them

    @property
    def staged(self) -> bool:
        """True if its copy goes to a staging buffer."""
        return self.known is None and self.nbytes >= SMALL and self.use.region.device == "cpu"

    @property
    def can_wait(self) -> bool:
        """True if it may be copied beside training."""
        return self.staged and self.stepped is not None


def plan(use: Use, memory: Memory, moving: Moving) -> Taking:
    """Look whether a region must be copied."""
    ranges = regions.merged([view.span for view in use.views])
    use.node.meta["ranges"] = [list(interval) for interval in ranges]
    nbytes = sum(high - low for low, high in ranges)
    key = use.region.key
    looks = nbytes >= SMALL and key not in moving.regions and (use.region.device == "cpu" or not memory.only_host)
    known = memory.recall(key) if looks else None
    predicted = known is not None and _predicted(use, ranges, known)
    name = known.name if known is not None and predicted else None
    return Taking(use, ranges, nbytes, name, moving.stepped.get(key))


def demand(takings: Iterable[Taking], memory: Memory) -> Demand:
    """What all of them need together."""
    copied = [taking for taking in takings if taking.known is None]
    sizes = Counter(taking.nbytes for taking in copied if taking.staged)
    cold = sum(size * count for size, count in memory.staging.missing(sizes).items())
    late = sum(taking.nbytes for taking in copied if taking.can_wait)
    elsewhere = sum(taking.nbytes for taking in copied if taking.use.region.device != "cpu")
    return Demand(sum(taking.nbytes for taking in copied), cold, sizes, late, elsewhere)


def take(
    taking: Taking, snapshot: Snapshot, memory: Memory, *, look: bool = False, late: LateCopy | None = None
) -> None:
    """Give a region's node its blob; its bytes come late if they may."""
    use, ranges = taking.use, taking.ranges
    blob = Blob(taking.nbytes, *_described(use, taking.nbytes))
    if taking.known is not None:
        blob.name = taking.known
        blob.live = Prediction(use.region.key, use.ref, use.region.owner, _looker(use.region, ranges), taking.known)
    elif look:
        blob.data = _looked_at(use.region, ranges).toreadonly()  # never taken for a buffer of ours
    elif late is not None and taking.can_wait:
        buffer = memory.staging.take(taking.nbytes)
        blob.hashing = late.add(use, ranges, buffer, taking.stepped or ())
        blob.data = memoryview(buffer)
    else:
        blob.data = _copied(use.region, ranges, taking.nbytes, memory)
    use.node.blob = len(snapshot.blobs)
    snapshot.blobs.append(blob)


def seen(use: Use, name: str) -> Remembered:
    """What the next capture may want to know of this region."""
    ranges = tuple((low, high) for low, high in use.node.meta["ranges"])
    return Remembered(use.region.address, use.region.nbytes, ranges, use.versions, name)


def _predicted(use: Use, ranges: list[Interval], known: Remembered) -> bool:
    same_place = (use.region.address, use.region.nbytes) == (known.address, known.nbytes)
    if not same_place or tuple(ranges) != known.ranges or None in use.versions or use.versions != known.versions:
        return False
    if not use.node.meta["torch"]:
        worth = not known.changed and sum(high - low for low, high in ranges) >= HASH_FIRST
        return worth and content_of(regions.pieces(use.region, ranges)) == known.name
    return True


def _looker(region: Region, ranges: list[Interval]) -> Any:
    return lambda: regions.pieces(region, ranges)


def _described(use: Use, nbytes: int) -> tuple[str, tuple[int, ...]]:
    view = use.views[0]
    code = CODES.get(view.dtype.removeprefix("torch."), "U8")
    count = nbytes // WIDTHS[code]
    if nbytes % WIDTHS[code]:
        return "U8", (nbytes,)
    shape = tuple(view.shape)
    elements = 1
    for size in shape:
        elements *= size
    return code, shape if elements == count else (count,)


def _looked_at(region: Region, ranges: list[Interval]) -> memoryview:
    """Live memory itself if it is in one piece; no staging buffer, since a forked child would not have it."""
    if region.device == "cpu" and len(ranges) == 1 and ranges[0][1] - ranges[0][0] >= SMALL:
        return regions.view(region.address + ranges[0][0], ranges[0][1] - ranges[0][0])
    return memoryview(b"".join(regions.pieces(region, ranges)))


def _copied(region: Region, ranges: list[Interval], nbytes: int, memory: Memory) -> memoryview:
    if nbytes < SMALL or region.device != "cpu":
        return memoryview(b"".join(regions.pieces(region, ranges)))
    buffer = memory.staging.take(nbytes)
    target = regions.address_of(buffer)
    for low, high in ranges:
        ctypes.memmove(target, region.address + low, high - low)  # releases the GIL
        target += high - low
    return memoryview(buffer)


def give_back(snapshot: Snapshot, memory: Memory) -> None:
    """Staging buffers are free again."""
    for blob in snapshot.blobs:
        data, blob.data, blob.hashing = blob.data, None, None
        if data is not None and blob.nbytes >= SMALL and not data.readonly:
            buffer = data.obj
            data.release()
            memory.staging.give(buffer)
