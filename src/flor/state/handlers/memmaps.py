"""Arrays mapped from files: read-only ones are the file's business."""

from __future__ import annotations

from typing import Any

from flor.state import loaded
from flor.state.handler import MISSING, Handler, Load, Refused, Walk
from flor.state.names import type_name
from flor.state.snapshot import Node


class MemmapHandler(Handler):
    """numpy.memmap: inert if it cannot be written, refused if it can."""

    kind = "memmap"

    def save(self, obj: Any, walk: Walk) -> Node:
        """Which file, and how it is looked at."""
        if obj.flags.writeable or obj.mode not in ("r", "c"):
            raise Refused("it is a writable mapping of a file")
        meta = {"dtype": obj.dtype.str, "shape": list(obj.shape), "offset": int(obj.offset or 0)}
        return Node(self.kind, type_name(obj), meta, [None if obj.filename is None else str(obj.filename)])

    def lacking(self, node: Node) -> str:
        """A view of a mapping does not say which part of the file it shows."""
        return "" if node.items[0] else "this process has no such file mapping at this place"

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live mapping if it has the same shape, else a new one."""
        if live is not MISSING and list(live.shape) == node.meta["shape"]:
            return live
        meta = node.meta
        return loaded.numpy().memmap(node.items[0], meta["dtype"], "r", meta["offset"], tuple(meta["shape"]))
