"""Numpy arrays: views of one memory stay views of one memory."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from flor.errors import RestoreMismatch
from flor.state import loaded
from flor.state.handler import MISSING, Handler, Load, Refused, Walk
from flor.state.handlers.tensors import region_of as tensor_region
from flor.state.names import type_name
from flor.state.regions import Region
from flor.state.snapshot import Node, Slot


def region_of(array: Any) -> Region:
    """The memory that an array looks into: that of its last base, or of the tensor it was taken from."""
    numpy, torch = loaded.numpy(), loaded.torch()
    root = array
    while isinstance(root.base, numpy.ndarray):
        root = root.base
    if torch is not None and isinstance(root.base, torch.Tensor):
        return tensor_region(root.base)
    low, high = _bounds(root)
    return Region("cpu", low, high - low, root, bool(root.flags.writeable))


def _bounds(array: Any) -> tuple[int, int]:
    low = high = array.__array_interface__["data"][0]
    if not array.size:
        return low, low
    for size, stride in zip(array.shape, array.strides, strict=True):
        low, high = low + min(0, (size - 1) * stride), high + max(0, (size - 1) * stride)
    return low, high + array.itemsize


class ArrayHandler(Handler):
    """Arrays of plain values, also structured ones."""

    kind = "array"

    def save(self, obj: Any, walk: Walk) -> Node:
        """Geometry here, bytes with the region."""
        if obj.dtype.hasobject or obj.dtype.kind == "T":
            raise Refused("arrays of structures that hold python objects are not kept")
        region = region_of(obj)
        low, high = _bounds(obj)
        span = (low - region.address, high - region.address) if obj.size else (0, 0)
        node = Node(self.kind, type_name(obj), _geometry(obj, region))
        version = ("numpy",) if region.nbytes else None
        node.items = [walk.region(region, span, obj.dtype.name, node.meta["shape"], version)]
        node.items.append(walk.slot(obj.dtype))
        return node

    def accepts(self, node: Node, live: Any) -> bool:
        """Same class, shape, strides and item size; the dtype is compared when it is made."""
        same = super().accepts(node, live) and not live.dtype.hasobject
        return same and list(live.shape) == node.meta["shape"] and list(live.strides) == node.meta["strides"]

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """The memory and the dtype."""
        return zip(node.items, (region_of(live), live.dtype), strict=True)

    def needs(self, node: Node) -> Iterable[Slot]:
        """The memory and the dtype."""
        return node.items

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live array if it looks at the right bytes, else a new view of them."""
        region, dtype = (load(slot) for slot in node.items)
        same_type = live is not MISSING and live.dtype == dtype
        if same_type and _geometry(live, region)["offset"] == node.meta["offset"] and region_of(live).key == region.key:
            return live
        return _looking(node, region, dtype)

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """The flag; the bytes come with the region."""
        if bool(obj.flags.writeable) != node.meta["writeable"]:
            obj.flags.writeable = node.meta["writeable"]


def _geometry(array: Any, region: Region) -> dict[str, Any]:
    return {
        "shape": list(array.shape),
        "strides": list(array.strides),
        "offset": array.__array_interface__["data"][0] - region.address if array.size else 0,
        "writeable": bool(array.flags.writeable),
    }


def _looking(node: Node, region: Region, dtype: Any) -> Any:
    numpy, owner = loaded.numpy(), region.owner
    if not isinstance(owner, numpy.ndarray):
        torch = loaded.torch()
        owner = torch.empty(0, dtype=torch.uint8).set_(owner).numpy()
    offset = node.meta["offset"] + region.address - owner.__array_interface__["data"][0] if region.nbytes else 0
    return numpy.ndarray(node.meta["shape"], dtype, owner, offset, node.meta["strides"])


class ObjectArrayHandler(Handler):
    """Arrays of python objects: element by element, in place."""

    kind = "object-array"

    def save(self, obj: Any, walk: Walk) -> Node:
        """The elements in C order."""
        meta = {"shape": list(obj.shape)}
        return Node(self.kind, type_name(obj), meta, [walk.slot(element) for element in obj.reshape(-1).tolist()])

    def accepts(self, node: Node, live: Any) -> bool:
        """Same shape, and of objects."""
        return super().accepts(node, live) and live.dtype.kind == "O" and list(live.shape) == node.meta["shape"]

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """In C order."""
        return zip(node.items, live.reshape(-1).tolist(), strict=True)

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live array or one full of None."""
        if live is MISSING and math.prod(node.meta["shape"]) != len(node.items):
            raise RestoreMismatch("an array's shape does not fit its elements", where=load.where(node))
        return loaded.numpy().empty(node.meta["shape"], dtype=object) if live is MISSING else live

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """One by one, since an element may itself be a sequence."""
        flat = obj.flat
        for index, slot in enumerate(node.items):
            flat[index] = load(slot)
