"""Handles to the outside world: left as they are, not walked, not compared."""

from __future__ import annotations

import logging
import threading
from typing import Any

from flor.state.handler import MISSING, Handler, Load, Walk
from flor.state.inert import inert_reason
from flor.state.names import type_name
from flor.state.snapshot import Node

_FRESH = {
    "_thread:lock": threading.Lock,
    "_thread:RLock": threading.RLock,
    "threading:Event": threading.Event,
    "threading:Condition": threading.Condition,
}


class InertHandler(Handler):
    """Files, writers, bars, loggers, locks, threads, descriptors."""

    kind = "inert"

    def save(self, obj: Any, walk: Walk) -> Node:
        """Only what it is; for a logger also its name."""
        meta = {"what": inert_reason(type(obj), walk.project)}
        if isinstance(obj, logging.Logger):
            meta["logger"] = str(obj.name)
        return Node(self.kind, type_name(obj), meta)

    def accepts(self, node: Node, live: Any) -> bool:
        """Any handle at the same place will do: it is not ours to judge."""
        return True

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
        return _FRESH[node.cls]()


class RefusedHandler(Handler):
    """What could not be saved stands as itself in the graph, so that the rest is still there."""

    kind = "refused"

    def accepts(self, node: Node, live: Any) -> bool:
        """Nothing is known of it."""
        return False

    def lacking(self, node: Node) -> str:
        """The reason of the capture."""
        return str(node.meta["reason"])
