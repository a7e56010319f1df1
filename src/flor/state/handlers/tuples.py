"""Tuples and named tuples: the live one if its elements are the restored ones, else a new one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from flor.state import attributes
from flor.state.handler import MISSING, Handler, Load, Walk
from flor.state.handlers.shells import attribute_slots, attribute_values, class_of
from flor.state.names import type_name
from flor.state.snapshot import ATOMS, Node, Slot


class TupleHandler(Handler):
    """Tuples and what is derived from them."""

    kind = "tuple"

    def save(self, obj: Any, walk: Walk) -> Node:
        """The elements."""
        node = Node(self.kind, type_name(obj), None, list(map(walk.slot, tuple.__iter__(obj))))
        if type(obj) is not tuple:
            node.attrs = attribute_slots(obj, walk)
        return node

    def accepts(self, node: Node, live: Any) -> bool:
        """Same class and length."""
        return super().accepts(node, live) and tuple.__len__(live) == len(node.items)

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """By index."""
        yield from zip(node.items, tuple.__iter__(live), strict=True)
        if node.attrs:
            yield from attributes.pairs(node.attrs, live)

    def needs(self, node: Node) -> Iterable[Slot]:
        """All elements: a tuple is complete when it is made."""
        return [*node.items, *super().needs(node)]

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live tuple is kept only if every element is what it would be."""
        elements = [load(slot) for slot in node.items]
        if live is not MISSING and all(map(same, elements, tuple.__iter__(live))):
            return live
        return tuple.__new__(class_of(node, load), elements)

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """Only a derived class has something left to fill."""
        if type(obj) is not tuple and node.attrs:
            attributes.write(obj, attribute_values(node, load))


def same(one: Any, other: Any) -> bool:
    """True if two values cannot be told apart: the same object, or equal atoms of one type."""
    if one is other:
        return True
    kind = type(one)
    return kind is type(other) and (kind in ATOMS or kind is bytes) and repr(one) == repr(other)
