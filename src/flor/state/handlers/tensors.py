"""Tensors and parameters: geometry, storage, gradient, attributes."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

from flor.errors import RestoreMismatch
from flor.state import attributes, loaded
from flor.state.handler import MISSING, Handler, Load, Refused, Walk
from flor.state.handlers.shells import attribute_slots, class_of
from flor.state.names import type_name
from flor.state.regions import Region, Version
from flor.state.snapshot import Node, Slot
from flor.state.tripwire import graph_name, with_tripwire

GRAD = "grad"
_NAMES: dict[Any, str] = {}


def region_of(tensor: Any) -> Region:
    """The memory that a strided tensor looks into."""
    storage = tensor.untyped_storage()
    return Region(_name(tensor.device), storage.data_ptr(), storage.nbytes(), storage)


def _extent(tensor: Any) -> tuple[int, int]:
    count = tensor.numel()
    if not count:
        return 0, 0
    if tensor.is_contiguous():
        start, width = tensor.storage_offset(), tensor.element_size()
        return start * width, (start + count) * width
    last = sum((size - 1) * stride for size, stride in zip(tensor.size(), tensor.stride(), strict=True))
    start, width = tensor.storage_offset(), tensor.element_size()
    return start * width, (start + last + 1) * width


def _unsupported(tensor: Any) -> str:
    torch = sys.modules["torch"]
    if tensor.layout is not torch.strided:
        return f"tensors of layout {tensor.layout} are not kept"
    if tensor.is_quantized or tensor.is_nested:
        return "quantized and nested tensors are not kept"
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter) and _dispatches(type(tensor)):
        return f"{type(tensor).__name__} is a wrapper around other tensors"
    if tensor.is_conj() or tensor.is_neg():
        return "lazily conjugated or negated tensors are not kept; resolve_conj() makes them plain"
    if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        return "it belongs to a transform of torch.func"
    return ""


def _dispatches(cls: Any) -> bool:
    return cls.__torch_dispatch__ is not loaded.torch().Tensor.__torch_dispatch__


class TensorHandler(Handler):
    """Strided tensors on any device, leaves or not."""

    kind = "tensor"

    def save(self, obj: Any, walk: Walk) -> Node:
        """Geometry here, bytes with the region, `.grad` and attributes as children."""
        reason = _unsupported(obj)
        if reason:
            raise Refused(reason)
        node = Node(self.kind, type_name(obj), _geometry(obj))
        leaf = node.meta["fn"] is None
        if obj.device.type != "meta":
            low, high = _extent(obj)
            version = None if obj.requires_grad or obj.is_inference() else Version(obj)
            region = region_of(obj)
            node.items = [walk.region(region, (low, high), node.meta["dtype"], node.meta["shape"], version)]
        node.attrs = attribute_slots(obj, walk) if _has_attributes(obj) else {}
        if (leaf or obj.retains_grad) and obj.grad is not None:
            node.attrs = {**node.attrs, GRAD: walk.slot(obj.grad)}
        return node

    def accepts(self, node: Node, live: Any) -> bool:
        """A leaf of the same class, dtype and device; its shape may be another."""
        if not super().accepts(node, live) or node.meta["fn"] is not None or _unsupported(live):
            return False
        same = str(live.dtype) == node.meta["dtype"] and str(live.device) == node.meta["device"]
        return same and live.grad_fn is None and live.is_inference() == node.meta["inference"]

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """The storage, the gradient, the attributes."""
        if node.items and live.device.type != "meta":
            yield node.items[0], region_of(live)
        if GRAD in node.attrs and live.grad is not None:
            yield node.attrs[GRAD], live.grad
        yield from attributes.pairs(node.attrs, live)

    def needs(self, node: Node) -> Iterable[Slot]:
        """The storage."""
        return [*node.items, *super().needs(node)]

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live tensor, or a new one that looks at the right bytes."""
        if live is not MISSING:
            return live
        torch = loaded.torch()
        plain = _looking(node, load)
        if node.meta["fn"] is not None:
            return with_tripwire(plain, node.meta["fn"], load.where(node))
        cls = class_of(node, load)
        if cls is torch.Tensor:
            return plain.requires_grad_(node.meta["requires_grad"])
        return torch.Tensor._make_subclass(cls, plain, node.meta["requires_grad"])

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """Geometry if it changed, then flags, gradient and attributes."""
        if node.items and not _looks_right(obj, node, load(node.items[0])):
            obj.data = _looking(node, load)
        if node.meta["fn"] is None and obj.requires_grad != node.meta["requires_grad"]:
            obj.requires_grad_(node.meta["requires_grad"])
        grad = load(node.attrs.get(GRAD))
        if (node.meta["fn"] is None or grad is not None) and obj.grad is not grad:
            obj.grad = grad
        own = {name: load(slot) for name, slot in node.attrs.items() if name not in (GRAD, "__class__")}
        if own or attributes.read(obj):
            attributes.write(obj, own)


def _has_attributes(tensor: Any) -> bool:
    """False for a tensor of torch's own classes that nobody has given an attribute."""
    torch = sys.modules["torch"]
    return type(tensor) not in (torch.Tensor, torch.nn.Parameter) or bool(attributes.namespace(tensor))


def _name(thing: Any) -> str:
    """A dtype or a device as text, which takes longer to make than to look up."""
    found = _NAMES.get(thing)
    if found is None:
        found = _NAMES[thing] = str(thing)
    return found


def _geometry(tensor: Any) -> dict[str, Any]:
    return {
        "dtype": _name(tensor.dtype),
        "device": _name(tensor.device),
        "shape": list(tensor.size()),
        "stride": list(tensor.stride()),
        "offset": tensor.storage_offset(),
        "requires_grad": tensor.requires_grad,
        "fn": graph_name(tensor),
        "inference": tensor.is_inference(),
    }


def _looking(node: Node, load: Load) -> Any:
    torch, meta = loaded.torch(), node.meta
    dtype = getattr(torch, meta["dtype"].removeprefix("torch."), None)
    if not isinstance(dtype, torch.dtype) or not _fits(node, dtype.itemsize, load):
        raise RestoreMismatch("a tensor's shape does not fit the memory that it was saved with", where=load.where(node))
    with torch.inference_mode(meta["inference"]):
        if not node.items:
            return torch.empty_strided(meta["shape"], meta["stride"], dtype=dtype, device=meta["device"])
        empty = torch.empty(0, dtype=dtype, device=meta["device"])
        return empty.set_(load(node.items[0]).owner, meta["offset"], meta["shape"], meta["stride"])


def _fits(node: Node, width: int, load: Load) -> bool:
    """True if every element lies inside of the tensor's memory; torch would enlarge the memory where one does not."""
    meta = node.meta
    shape, stride, offset = meta["shape"], meta["stride"], meta["offset"]
    numbers = [*shape, *stride, offset]
    if len(shape) != len(stride) or not all(type(number) is int and number >= 0 for number in numbers):
        return False
    if not node.items or 0 in shape:
        return not node.items or bool(offset * width <= load(node.items[0]).nbytes)
    last = offset + sum((size - 1) * step for size, step in zip(shape, stride, strict=True))
    return bool((last + 1) * width <= load(node.items[0]).nbytes)


def _looks_right(tensor: Any, node: Node, region: Region) -> bool:
    meta = node.meta
    same = list(tensor.size()) == meta["shape"] and list(tensor.stride()) == meta["stride"]
    return same and tensor.storage_offset() == meta["offset"] and region_of(tensor).key == region.key
