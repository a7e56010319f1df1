"""Lists and deques, and what is derived from them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from operator import ne
from typing import Any

from flor.state import attributes
from flor.state.handler import MISSING, Handler, Load, Walk
from flor.state.handlers.shells import attribute_slots, attribute_values, new_shell
from flor.state.names import type_name
from flor.state.packing import pack, unpack
from flor.state.snapshot import ATOMS, Node, Slot


class ListHandler(Handler):
    """Lists: slice assignment keeps the identity. A long list of plain numbers is one blob."""

    kind = "list"

    def save(self, obj: Any, walk: Walk) -> Node:
        """The elements by base methods, then attributes if it is of a derived class."""
        values = list.copy(obj)
        node = Node(self.kind, type_name(obj))
        packed = pack(values)
        if packed is not None:
            node.meta, node.blob = {"packed": packed[0]}, walk.blob(packed[1])
        elif (
            set(map(type, values)) <= ATOMS
            and sum(map(len, (v for v in values if type(v) is str))) < 1 << 16
            and not any(map(ne, values, values))  # a NaN has an identity
        ):
            node.items = values
        else:
            node.items = list(map(walk.slot, values))
        if type(obj) is not list:
            node.attrs = attribute_slots(obj, walk)
        return node

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """By index."""
        yield from zip(node.items, list.copy(live), strict=False)
        if node.attrs:
            yield from attributes.pairs(node.attrs, live)

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live list or an empty one."""
        return new_shell(node, load) if live is MISSING else live

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """All elements at once."""
        packed = node.meta and node.meta["packed"]
        values = unpack(packed, load.data(node)) if packed else [load(slot) for slot in node.items]
        list.__setitem__(obj, slice(None), load.with_added(values, list.copy(obj)))
        if type(obj) is not list:
            attributes.write(obj, attribute_values(node, load))


class DequeHandler(Handler):
    """Deques with their `maxlen`, which cannot change in place."""

    kind = "deque"

    def save(self, obj: Any, walk: Walk) -> Node:
        """The elements in order."""
        node = Node(self.kind, type_name(obj), {"maxlen": _maxlen(obj)})
        node.items = [walk.slot(value) for value in list(deque.__iter__(obj))]
        if type(obj) is not deque:
            node.attrs = attribute_slots(obj, walk)
        return node

    def accepts(self, node: Node, live: Any) -> bool:
        """Same class and same bound."""
        return super().accepts(node, live) and _maxlen(live) == node.meta["maxlen"]

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """By index."""
        yield from zip(node.items, list(deque.__iter__(live)), strict=False)
        if node.attrs:
            yield from attributes.pairs(node.attrs, live)

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live deque or an empty one of the same bound."""
        if live is not MISSING:
            return live
        shell = new_shell(node, load)
        deque.__init__(shell, (), node.meta["maxlen"])
        return shell

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """Empty, then extend."""
        values = [load(slot) for slot in node.items]
        deque.clear(obj)
        deque.extend(obj, values)
        if type(obj) is not deque:
            attributes.write(obj, attribute_values(node, load))


def _maxlen(obj: Any) -> int | None:
    found: int | None = vars(deque)["maxlen"].__get__(obj)
    return found
