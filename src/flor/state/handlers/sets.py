"""Sets and frozen sets; their elements are saved in an order that does not depend on the process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from flor.state import attributes
from flor.state.arrange import arranged
from flor.state.fingers import finger
from flor.state.handler import MISSING, Handler, Load, Walk
from flor.state.handlers.shells import attribute_slots, attribute_values, new_shell
from flor.state.handlers.tuples import same
from flor.state.names import type_name
from flor.state.snapshot import ATOMS, Address, Node, Ref, Slot


def canonical(elements: Iterable[Any]) -> list[Any]:
    """The elements ordered by what they are, as far as that shows without calling their methods."""
    return sorted(elements, key=order_key)


def order_key(value: Any, depth: int = 3) -> tuple[str, str]:
    """A sort key free of addresses and hashes."""
    kind = type(value)
    name = f"{kind.__module__}.{kind.__qualname__}"
    if kind in ATOMS or kind in (bytes, complex):
        return name, repr(value)
    if depth and kind in (tuple, frozenset):
        keys = [order_key(element, depth - 1) for element in kind.__iter__(value)]
        return name, repr(keys if kind is tuple else sorted(keys))
    own = attributes.read(value) if depth and attributes.namespace(value) is not None else {}
    return name, repr(sorted((key, order_key(own[key], 0)) for key in own))


class SetHandler(Handler):
    """Mutable sets, rewritten in place."""

    kind = "set"
    rank = 2
    native: type = set

    def save(self, obj: Any, walk: Walk) -> Node:
        """The elements in canonical order; the order of iteration and the size of the table beside it."""
        found = list(self.native.__iter__(obj))  # type: ignore[attr-defined]
        ordered = canonical(found)
        node = Node(self.kind, type_name(obj))
        node.items = [walk.slot(element) for element in ordered]
        place = {id(element): position for position, element in enumerate(ordered)}
        node.meta = {"order": [place[id(element)] for element in found], "bytes": self.native.__sizeof__(obj)}  # type: ignore[call-arg]
        node.meta["finger"] = finger(obj) if self.native is set else 0
        if type(obj) is not self.native:
            node.attrs = attribute_slots(obj, walk)
        return node

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """Attributes only: elements have no place."""
        return attributes.pairs(node.attrs, live) if node.attrs else iter(())

    def guesses_needed(self, node: Node) -> bool:
        """Elements that are objects are found under other names first."""
        return any(type(element) is Ref for element in node.items)

    def guesses(self, node: Node, live: Any, known: Callable[[Slot], Any]) -> Iterator[tuple[Slot, Any]]:
        """Elements that are not known, in canonical order."""
        saved = [slot for slot in node.items if type(slot) is Ref]
        taken = {id(known(slot)) for slot in saved}
        left = [element for element in self.native.__iter__(live) if id(element) not in taken]  # type: ignore[attr-defined]
        unknown = [slot for slot in saved if known(slot) is MISSING]
        yield from zip(unknown, canonical(e for e in left if type(e) not in ATOMS), strict=False)

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live set or an empty one."""
        return new_shell(node, load) if live is MISSING else live

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """Rewritten unless it has these elements already; a change in the order of iteration is told.

        A set that was larger once has a larger table, and what is added to it later comes in another order;
        one that was popped from goes on from there.
        """
        wanted = self.elements(node, load)
        ordered = _ordered(node, wanted)
        if not _same(list(set.__iter__(obj)), wanted) or not self.iterates(node, obj, wanted):
            set.clear(obj)
            set.update(obj, arranged(wanted))
        if ordered and not self.iterates(node, obj, wanted):
            load.doubt(node, "the set may iterate in another order than when it was recorded")
        if type(obj) is not set:
            attributes.write(obj, attribute_values(node, load))

    @staticmethod
    def elements(node: Node, load: Load) -> list[Any]:
        """The elements in the saved order of iteration."""
        return [load(node.items[position]) for position in node.meta["order"]]

    @staticmethod
    def iterates(node: Node, obj: Any, wanted: list[Any]) -> bool:
        """True if the set iterates and pops as the saved one, now and after the same additions."""
        hidden = (set.__sizeof__(obj), finger(obj)) == (node.meta["bytes"], node.meta["finger"])
        return hidden and all(map(same, set.__iter__(obj), wanted))


def _same(present: list[Any], wanted: list[Any]) -> bool:
    keys = [{order_key(v) if type(v) in ATOMS else id(v) for v in values} for values in (present, wanted)]
    return keys[0] == keys[1]


def _ordered(node: Node, elements: list[Any]) -> bool:
    """True if the order of iteration is the same in every process with one hash seed."""
    addresses = any(type(slot) is Address for slot in node.items)
    return not addresses and all(type(element) in ATOMS for element in elements)


class FrozenSetHandler(SetHandler):
    """Frozen sets: the live one if it has the same elements, else a new one."""

    kind = "frozenset"
    native = frozenset

    def is_late(self, node: Node) -> bool:
        """Elements that are objects may compute their hash from their attributes."""
        return any(type(element) is Ref for element in node.items)

    def needs(self, node: Node) -> Iterable[Slot]:
        """All elements."""
        return [*node.items, *super().needs(node)]

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """Complete at once, since it cannot be filled."""
        elements = self.elements(node, load)
        if live is not MISSING and {id(e) for e in elements} == {id(e) for e in frozenset.__iter__(live)}:
            return live
        cls = load(node.attrs["__class__"]) if "__class__" in node.attrs else frozenset
        return frozenset.__new__(cls, arranged(elements))

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """Only a derived class has something left to fill; another order of iteration is told."""
        wanted = self.elements(node, load)
        if _ordered(node, wanted) and not all(map(same, frozenset.__iter__(obj), wanted)):
            load.doubt(node, "the set may iterate in another order than when it was recorded")
        if type(obj) is not frozenset:
            attributes.write(obj, attribute_values(node, load))
