"""Weak references: to what else is saved, or to nothing."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from typing import Any

from flor.state.handler import MISSING, Handler, Load, Walk
from flor.state.names import type_name
from flor.state.snapshot import Node, Slot


class WeakHandler(Handler):
    """Plain weak references; they keep nothing alive and lead nowhere on their own."""

    kind = "weakref"

    def save(self, obj: Any, walk: Walk) -> Node:
        """The referent, if by the end it was reached in another way."""
        node = Node(self.kind, type_name(obj), {"alive": obj() is not None}, [None])
        referent = obj()

        def finish(known: Any) -> None:
            node.items = [known(referent)]

        walk.later(finish)
        return node

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """The referent."""
        yield node.items[0], live()

    def needs(self, node: Node) -> Iterable[Slot]:
        """The referent."""
        return node.items

    def lacking(self, node: Node) -> str:
        """It must have something to refer to."""
        unreached = node.meta["alive"] and node.items[0] is None
        return "it refers weakly to something that is not reached otherwise" if unreached else ""

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live reference if it is to the restored object."""
        referent = load(node.items[0])
        if live is not MISSING and (live() is referent or node.items[0] is None):
            return live
        return weakref.ref(_Gone() if referent is None else referent)


class _Gone:
    """What a dead reference referred to."""
