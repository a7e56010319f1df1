"""Handles to the outside world: left as they are, not walked, not compared."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from flor.state import attributes, outside
from flor.state.handler import MISSING, Handler, Load, Refused, Walk
from flor.state.inert import inert_reason
from flor.state.names import type_name
from flor.state.snapshot import Node, Slot
from flor.state.stored import stored_names

_FRESH = {
    "_thread:lock": threading.Lock,
    "_thread:RLock": threading.RLock,
    "threading:Event": threading.Event,
    "threading:Condition": threading.Condition,
}


class InertHandler(Handler):
    """Files, writers, bars, loggers, locks, threads, descriptors.

    A class of the project that is derived from one is a handle too; what its own methods set is state.
    """

    kind = "inert"
    claims = False

    def save(self, obj: Any, walk: Walk) -> Node:
        """What it is, and the few facts of it that are state: a logger's name, a condition's lock, a bar's count."""
        busy = outside.busy(obj, walk.project)
        if busy:
            raise Refused(f"{busy}, whose state cannot be saved")
        what = inert_reason(type(obj), walk.project)
        meta: dict[str, Any] = {"what": what, **outside.facts(obj, what)}
        if isinstance(obj, logging.Logger):
            meta["logger"] = str(obj.name)
        node = Node(self.kind, type_name(obj), meta)
        if type(obj) is threading.Condition:
            node.items = [walk.slot(obj._lock)]  # type: ignore[attr-defined]
        own = stored_names(type(obj), walk.project)
        if own:
            node.attrs = {name: walk.slot(value) for name, value in attributes.read(obj).items() if name in own}
        return node

    def accepts(self, node: Node, live: Any) -> bool:
        """Any handle at the same place will do, unless it has state that must go into one of its class."""
        return not node.attrs or super().accepts(node, live)

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """What the project's own methods set."""
        return attributes.pairs(node.attrs, live) if node.attrs else iter(())

    def needs(self, node: Node) -> Iterable[Slot]:
        """A condition's lock."""
        return node.items

    def lacking(self, node: Node) -> str:
        """Only locks and loggers can be had anew."""
        if node.cls in _FRESH or "logger" in node.meta:
            return ""
        return f"a {node.meta['what']} is left alone, and this process has none at this place"

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live handle, or a new lock or the logger of that name."""
        if live is not MISSING:
            return live
        if "logger" in node.meta:
            return logging.getLogger(node.meta["logger"])
        return _FRESH[node.cls](*map(load, node.items))

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """What the project's own methods set, a bar's count and the place in a file; nothing else of it."""
        outside.put(obj, node.meta)
        own = attributes.namespace(obj) if node.attrs else None
        if own is not None:
            own.update((name, load(slot)) for name, slot in node.attrs.items())


class RefusedHandler(Handler):
    """What could not be saved stands as itself in the graph, so that the rest is still there."""

    kind = "refused"

    def accepts(self, node: Node, live: Any) -> bool:
        """Nothing is known of it."""
        return False

    def lacking(self, node: Node) -> str:
        """The reason of the capture."""
        return str(node.meta["reason"])
