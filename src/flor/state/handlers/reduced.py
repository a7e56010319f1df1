"""Objects of C code by the pieces they themselves give for pickling; nothing is ever pickled whole.

The pieces are walked like everything else, so that what they share with the rest stays shared.
"""

from __future__ import annotations

import copyreg
import re
import warnings
from collections.abc import Iterable, Iterator
from itertools import cycle
from typing import Any, NamedTuple

from flor.errors import RestoreMismatch
from flor.state.handler import MISSING, Handler, Load, Refused, Walk
from flor.state.makers import make, maker_reason, state_reason
from flor.state.names import lookup, name_of, type_name
from flor.state.snapshot import ATOMS, Node, Slot

# Python 3.12 and 3.13 warn whoever takes an iterator of itertools apart; that is us, not the script.
_NOT_SAID: Any = ("ignore", re.compile("Pickle, copy, and deepcopy"), DeprecationWarning, re.compile(r"flor\."), 0)


_TEES = ("_tee", "_tee_dataobject")


class Pieces(NamedTuple):
    """What `__reduce_ex__` gives, with nothing left out."""

    make: Any
    args: tuple[Any, ...]
    state: Any
    items: list[Any]
    pairs: list[tuple[Any, Any]]


def pieces(obj: Any) -> Pieces | str:
    """An object's pieces, or the global name it goes by."""
    if type(obj).__name__ in _TEES:
        raise Refused("it shares what was read with its siblings, and Python may crash when it is taken apart")
    known = copyreg.dispatch_table.get(type(obj))
    if type(obj).__module__ == "itertools" and _NOT_SAID not in warnings.filters:
        warnings.filters.insert(0, _NOT_SAID)  # type: ignore[attr-defined]
    try:
        found = known(obj) if known is not None else obj.__reduce_ex__(4)
    except Exception as error:
        raise Refused(f"it cannot be taken apart: {error}") from None
    if isinstance(found, str):
        return found
    make, args, state, items, pairs = (*found, None, None, None)[:5]
    if type(obj) is cycle:
        args = _one_way(args, state)
    return Pieces(make, args, state, list(items or ()), list(pairs or ()))


class ReducedHandler(Handler):
    """Iterators, dates, numbers, paths, patterns, and whatever else can be taken apart: made anew."""

    kind = "reduced"
    rank = 3

    def save(self, obj: Any, walk: Walk) -> Node:
        """The pieces as children: maker, arguments, state, elements."""
        found = pieces(obj)
        if isinstance(found, str):
            return Node(self.kind, type_name(obj), {"global": _global(obj, found)})
        if found.make is copyreg._reconstructor:  # type: ignore[attr-defined]
            raise Refused("it can only be taken apart by the oldest protocol")
        meta = {"args": len(found.args), "items": len(found.items), "pairs": len(found.pairs)}
        node = Node(self.kind, type_name(obj), meta, [walk.slot(part) for part in _flat(found)])
        if walk.project(type(obj).__module__):
            node.attrs = {"__class__": walk.slot(type(obj))}
        return node

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """The live object's own pieces, in the same order."""
        try:
            found = pieces(live)
        except Refused:
            return
        if not isinstance(found, str) and len(found.args) == (node.meta or {}).get("args"):
            yield from zip(node.items, _flat(found), strict=False)

    def needs(self, node: Node) -> Iterable[Slot]:
        """The maker and its arguments."""
        return [*node.items[: 1 + node.meta.get("args", 0)], *super().needs(node)]

    def lacking(self, node: Node) -> str:
        """A name must still exist."""
        name = node.meta.get("global")
        return "" if name is None or lookup(name) is not None else f"this process has no {name}"

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """Always new: the matcher keeps a live one that is equal by itself."""
        if live is not MISSING:
            return live
        if "global" in node.meta:
            return lookup(node.meta["global"])
        maker, *args = (load(slot) for slot in node.items[: 1 + node.meta["args"]])
        cls = maker_class(node, maker, load(node.attrs.get("__class__")))
        reason = maker_reason(maker, args, cls, load.project)  # the guarantee: nothing else is called
        if reason:
            raise RestoreMismatch(f"{node.cls.replace(':', '.')} cannot be restored: {reason}", where=load.where(node))
        made = make(maker, args)
        if cls is not None and type(made) is not cls:
            raise RestoreMismatch(f"the maker of a {node.cls} made something else", where=load.where(node))
        return made

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """State and elements, as unpickling would put them; not twice, since `itertools.cycle` begins anew then."""
        if "global" in node.meta or _has(obj, node, load):
            return
        start = 1 + node.meta["args"]
        state, *rest = (load(slot) for slot in node.items[start:])
        items, pairs = rest[: node.meta["items"]], rest[node.meta["items"] :]
        reason = state_reason(type(obj), load.project) if items or pairs or hasattr(obj, "__setstate__") else ""
        if reason and (items or pairs or state is not None):
            raise RestoreMismatch(f"{node.cls.replace(':', '.')} cannot be restored: {reason}", where=load.where(node))
        if items:
            obj.extend(items)
        for key, value in zip(pairs[::2], pairs[1::2], strict=True):
            obj[key] = value
        if state is not None:
            set_state(obj, state)


def maker_class(node: Node, maker: Any, given: Any) -> type | None:
    """The class of the object that is to be made; None if it has no name, as those of iterators."""
    found = lookup(node.cls) if given is None else given
    if found is None and isinstance(maker, type) and name_of(maker) == node.cls:
        found = maker
    return found if isinstance(found, type) else None


def _one_way(args: tuple[Any, ...], state: tuple[list[Any], int]) -> tuple[Any, ...]:
    """A cycle after its first round holds the next place in two ways, at the end and at the beginning: one of them."""
    saved, later = state
    parts: tuple[Any, ...] = args[0].__reduce__() if later else ()
    if len(parts) < 3 or parts[1][0] is not saved:
        return args
    again: Any = iter(saved)
    again.__setstate__(parts[2] % len(saved))
    return (again,)


def _has(obj: Any, node: Node, load: Load) -> bool:
    """True if the object's pieces are the saved ones already, these very objects."""
    try:
        found = pieces(obj)
    except Refused:
        return False
    start = 1 + node.meta["args"]
    wanted = [load(slot) for slot in node.items[start:]]
    return not isinstance(found, str) and _alike(_flat(found)[1 + len(found.args) :], wanted)


def _alike(found: Any, wanted: Any) -> bool:
    if found is wanted:
        return True
    if type(found) is not type(wanted):
        return False
    if type(found) in (tuple, list):
        return len(found) == len(wanted) and all(map(_alike, found, wanted))
    return type(found) in ATOMS and type(found) is not float and bool(found == wanted)


def set_state(obj: Any, state: Any) -> None:
    """Give an object its state as unpickling does."""
    if hasattr(obj, "__setstate__"):
        obj.__setstate__(state)
        return
    own, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    obj.__dict__.update(own or {})
    for name, value in (slots or {}).items():
        setattr(obj, name, value)


def _flat(found: Pieces) -> list[Any]:
    pairs = [part for pair in found.pairs for part in pair]
    return [found.make, *found.args, found.state, *found.items, *pairs]


def _global(obj: Any, name: str) -> str:
    module = getattr(obj, "__module__", None) or type(obj).__module__
    return f"{module}:{name}"
