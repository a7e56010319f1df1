"""Dicts, ordered and default ones, counters, and what is derived from them."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from flor.state import attributes
from flor.state.handler import MISSING, Handler, Load, Walk
from flor.state.handlers.shells import attribute_slots, attribute_values, new_shell
from flor.state.names import type_name
from flor.state.snapshot import ATOMS, Address, Node, Ref, Slot

FACTORY = "default_factory"
PLAIN = ATOMS | {bytes}
EMPTY = Node("dict", type_name(OrderedDict()), None, [], {})
"""The node of every empty ordered dict; nodes are not changed once they are saved."""


def _native(obj: Any) -> Any:
    """The class whose methods reach the true contents: an OrderedDict has an order of its own."""
    return OrderedDict if isinstance(obj, OrderedDict) else dict


class DictHandler(Handler):
    """Dicts, in order; keys may be objects that are hashed by identity, as in an optimizer's state."""

    kind = "dict"
    rank = 2

    def save(self, obj: Any, walk: Walk) -> Node:
        """Keys and values by turns."""
        if type(obj) is OrderedDict and not len(obj) and not attributes.namespace(obj):
            return EMPTY  # a module has a dozen of them, for hooks
        slot = walk.slot
        items: list[Slot] = []
        for key, value in list(_native(obj).items(obj)):
            items.append(slot(key))
            items.append(slot(value))
        node = Node(self.kind, type_name(obj), None, items)
        if type(obj) is not dict:
            self._save_rest(node, obj, walk)
        return node

    def _save_rest(self, node: Node, obj: Any, walk: Walk) -> None:
        node.meta = {"own": True} if attributes.namespace(obj) is obj else None
        attrs = attribute_slots(obj, walk)
        node.attrs = attrs
        if isinstance(obj, defaultdict):
            attrs[FACTORY] = walk.slot(vars(defaultdict)[FACTORY].__get__(obj))

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """By key where the key is plain; then attributes."""
        plain = {(type(key), key): value for key, value in list(_native(live).items(live)) if type(key) in PLAIN}
        for key, value in zip(node.items[::2], node.items[1::2], strict=True):
            if type(key) is not Ref and (type(key), key) in plain:
                yield value, plain[(type(key), key)]
        if node.attrs:
            yield from attributes.pairs(node.attrs, live)
            if FACTORY in node.attrs and isinstance(live, defaultdict):
                yield node.attrs[FACTORY], live.default_factory

    def guesses_needed(self, node: Node) -> bool:
        """Keys that are objects are found under other names first, as an optimizer's parameters are."""
        return any(type(key) in (Ref, Address) for key in node.items[::2])

    def guesses(self, node: Node, live: Any, known: Callable[[Slot], Any]) -> Iterator[tuple[Slot, Any]]:
        """The value of a key that is known; keys that are not, in order."""
        everything = list(_native(live).items(live))
        yield from self._at_addresses(node, {k: v for k, v in everything if type(k) in (int, str)}, known)
        present = {id(k): (k, v) for k, v in everything if type(k) not in PLAIN}
        saved = [(k, v) for k, v in zip(node.items[::2], node.items[1::2], strict=True) if type(k) is Ref]
        for key, value in saved:
            if id(known(key)) in present:
                yield value, present.pop(id(known(key)))[1]
        unknown = [(key, value) for key, value in saved if known(key) is MISSING]
        for (key, value), (live_key, live_value) in zip(unknown, present.values(), strict=False):
            yield key, live_key
            yield value, live_value

    def _at_addresses(
        self, node: Node, plain: dict[Any, Any], known: Callable[[Slot], Any]
    ) -> Iterator[tuple[Slot, Any]]:
        """The values of keys that are addresses of objects that are known."""
        for key, value in zip(node.items[::2], node.items[1::2], strict=True):
            if type(key) is Address and key.node is not None and known(key) in plain:
                yield value, plain[known(key)]

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live dict or an empty one."""
        return new_shell(node, load) if live is MISSING else live

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """Rewritten in saved order, unless it holds these very objects already."""
        wanted = [(load(k), load(v)) for k, v in zip(node.items[::2], node.items[1::2], strict=True)]
        native = _native(obj)
        if not _same(list(native.items(obj)), wanted):
            native.clear(obj)
            for key, value in wanted:
                native.__setitem__(obj, key, value)
        if type(obj) is not dict:
            self._fill_rest(node, obj, load)

    def _fill_rest(self, node: Node, obj: Any, load: Load) -> None:
        values = attribute_values(node, load)
        if isinstance(obj, defaultdict):
            obj.default_factory = values.pop(FACTORY, None)
        if node.meta:
            object.__setattr__(obj, "__dict__", obj)
        attributes.write(obj, values)


def _same(present: list[tuple[Any, Any]], wanted: list[tuple[Any, Any]]) -> bool:
    if len(present) != len(wanted):
        return False
    both = zip(present, wanted, strict=True)
    return all((k is q or (type(k) is str and type(q) is str and k == q)) and v is w for (k, v), (q, w) in both)
