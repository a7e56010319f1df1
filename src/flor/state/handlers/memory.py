"""Regions of memory: filled in place, so that every view of them is right at once."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable
from typing import Any

from flor.errors import RestoreMismatch
from flor.state import loaded
from flor.state.handler import MISSING, Handler, Load
from flor.state.hashing import content_of
from flor.state.regions import Region, pieces, write
from flor.state.snapshot import Node, Slot


class MemoryHandler(Handler):
    """What tensors and arrays look into; saved by the walk when all views are known."""

    kind = "memory"
    rank = 0

    def identity(self, live: Any) -> Hashable:
        """The address, since the same storage comes in many python objects."""
        return (self.kind, live.key)

    def accepts(self, node: Node, live: Any) -> bool:
        """Same size on the same device, and not read-only."""
        fits = isinstance(live, Region) and live.nbytes == node.meta["nbytes"]
        return fits and live.device == node.meta["device"] and live.writable

    def needs(self, node: Node) -> Iterable[Slot]:
        """Nothing."""
        return ()

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live region or a new one of the same size."""
        if live is not MISSING:
            return live
        nbytes = max([node.meta["nbytes"], *(high for _, high in node.meta["ranges"])])
        if nbytes > _physical():
            raise RestoreMismatch(f"{nbytes:,} bytes are more than this machine has", where=load.where(node))
        return _torch_region(nbytes, node, load) if node.meta["torch"] else _numpy_region(nbytes)

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """The saved bytes of each interval; memory that holds them already is not touched, nor are they read."""
        intervals = [(low, high) for low, high in node.meta["ranges"]]
        if not all(0 <= low <= high <= obj.nbytes for low, high in intervals):  # the guarantee: no write beside it
            raise RestoreMismatch("saved bytes lie outside of the memory that they belong to", where=load.where(node))
        name = load.name(node)
        if name and obj.device == "cpu" and content_of(pieces(obj, intervals)) == name:
            return
        data = load.data(node)
        if data is not None:
            if sum(high - low for low, high in intervals) != len(data):
                raise RestoreMismatch("the saved bytes are fewer or more than their places", where=load.where(node))
            write(obj, intervals, data)


def _physical() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _torch_region(nbytes: int, node: Node, load: Load) -> Region:
    torch, device = loaded.torch(), node.meta["device"]
    try:
        storage = torch.UntypedStorage(nbytes, device=device)
    except Exception as error:
        raise RestoreMismatch(
            f"a tensor on {device} was saved and none can be made here: {error}",
            where=load.where(node),
            todo="Replay on a machine with the same kind of devices.",
        ) from error
    return Region(device, storage.data_ptr(), nbytes, storage)


def _numpy_region(nbytes: int) -> Region:
    owner = loaded.numpy().empty(nbytes, dtype="u1")
    return Region("cpu", owner.__array_interface__["data"][0], nbytes, owner)
