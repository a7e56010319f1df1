"""Whether two snapshots are the same graph."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from flor.state.addresses import may_be_address
from flor.state.allowance import NOTHING_DIFFERS, Allowance
from flor.state.snapshot import Address, Node, Ref, Slot, Snapshot

NOT_COMPARED = frozenset({"inert", "refused", "module", "memmap", "weakref", "surroundings", "output", "logger"})


Place = tuple[str, str]
"""The nearest object around a slot, by its class, and the attribute that leads from there."""


class Pairing:
    """Two graphs walked side by side; a node of one may stand for one node of the other only."""

    def __init__(self, one: Snapshot, other: Snapshot, allowed: Allowance = NOTHING_DIFFERS) -> None:
        self.one, self.other, self.allowed = one, other, allowed
        self._there: dict[int, int] = {}
        self._back: dict[int, int] = {}
        self._seen: set[tuple[int, int]] = set()
        self._queue: deque[tuple[int, int, str, Place]] = deque()

    def walk(self, one: Slot, other: Slot, path: str) -> Iterator[tuple[str, str]]:
        """Each difference below two slots: where, and what."""
        yield from self._slots(one, other, path, ("", ""))
        while self._queue:
            a, b, where, place = self._queue.popleft()
            yield from self._nodes(self.one.nodes[a], self.other.nodes[b], where, place)

    def _slots(self, one: Slot, other: Slot, path: str, place: Place) -> Iterator[tuple[str, str]]:
        if type(one) is Ref and type(other) is Ref:
            yield from self._refs(int(one), int(other), path, place)
        elif Address in (type(one), type(other)):
            yield from self._addresses(one, other, path, place)
        elif (
            type(one) is Ref
            or type(other) is Ref
            or not (same_atom(one, other) or self.allowed.values(one, other, *place))
        ):
            yield path, f"{self._show(one, self.one)} was recorded, now {self._show(other, self.other)}"

    def _addresses(self, one: Slot, other: Slot, path: str, place: Place) -> Iterator[tuple[str, str]]:
        """The address of the same object, or of one that is gone: that says nothing in another process."""
        known = [slot.node for slot in (one, other) if type(slot) is Address]
        if len(known) == 2 and None not in known:
            if (one.form, one.offset, one.text) == (other.form, other.offset, other.text):
                yield from self._refs(one.node, other.node, path, place)
            else:
                yield path, f"{one!r} was recorded, now {other!r}"
        elif len(known) == 1 and not may_be_address(one if type(other) is Address else other):
            yield path, f"{self._show(one, self.one)} was recorded, now {self._show(other, self.other)}"

    def _refs(self, a: int, b: int, path: str, place: Place) -> Iterator[tuple[str, str]]:
        if (a, b) in self._seen:
            return
        self._seen.add((a, b))
        if _has_identity(self.one.nodes[a]) and (self._there.setdefault(a, b) != b or self._back.setdefault(b, a) != a):
            yield path, "it is no longer the same object under each of its names"
            return
        self._queue.append((a, b, path, place))

    def _nodes(self, one: Node, other: Node, path: str, place: Place) -> Iterator[tuple[str, str]]:
        if one.kind in NOT_COMPARED and other.kind in NOT_COMPARED:
            then, now = _place(one), _place(other)
            if None not in (then, now) and then != now:
                yield path, f"the file had been read up to {then}, now up to {now}"
            return
        if one.kind == other.kind == "settings":
            one, other = _of_both(one, other)
        if (len(one.items), len(one.attrs)) != (len(other.items), len(other.attrs)):
            other = self.allowed.without_added(other, self.other)
        told = self._facts(one, other)
        if told:
            yield path, told
            return
        labels, owns = one.slots(), _is_object(one)
        for (label, mine), (_, yours) in zip(labels, _aligned(one, other), strict=True):
            yield from self._slots(mine, yours, path + label, (one.cls, label.lstrip(".")) if owns else place)

    def _facts(self, one: Node, other: Node) -> str:
        if (one.kind, one.cls) != (other.kind, other.cls):
            return f"a {_class(one)} was recorded, now a {_class(other)}"
        if len(one.items) != len(other.items):
            unit = 2 if one.kind == "dict" else 1
            return f"{len(one.items) // unit} elements were recorded, now {len(other.items) // unit}"
        if one.attrs.keys() != other.attrs.keys():
            names = ", ".join(sorted(one.attrs.keys() ^ other.attrs.keys()))
            return f"its attributes differ: {names}"
        if _compared(one) != _compared(other):
            return f"{_facts_text(one.meta)} was recorded, now {_facts_text(other.meta)}"
        return self._bulk(one, other)

    def _bulk(self, one: Node, other: Node) -> str:
        a = "" if one.blob is None else self.one.blobs[one.blob].name
        b = "" if other.blob is None else self.other.blobs[other.blob].name
        return "" if a == b else "its content differs"

    @staticmethod
    def _show(slot: Slot, snapshot: Snapshot) -> str:
        return f"a {_class(snapshot.nodes[slot])}" if type(slot) is Ref else _short(repr(slot))


def same_atom(one: Slot, other: Slot) -> bool:
    """Equal and of one type; NaN equals NaN, and zero is not minus zero."""
    return type(one) is type(other) and (one == other or one != one) and repr(one) == repr(other)


def _is_object(node: Node) -> bool:
    """True for anything but a built-in container."""
    return node.cls.partition(":")[0] not in ("", "builtins", "collections")


def _has_identity(node: Node) -> bool:
    return node.kind not in ("tuple", "frozenset", "text", "bytes", "nan", "method", "builtin", "dtype", "reduced")


def _aligned(one: Node, other: Node) -> Iterator[tuple[str, Slot]]:
    if list(one.attrs) == list(other.attrs):
        return other.slots()
    ordered = Node(other.kind, other.cls, other.meta, other.items, {name: other.attrs[name] for name in one.attrs})
    return ordered.slots()


def _of_both(one: Node, other: Node) -> tuple[Node, Node]:
    """Only the settings that both have: a library may be loaded in one process and not in the other."""
    names = [name for name in one.attrs if name in other.attrs]
    first, second = ({name: node.attrs[name] for name in names} for node in (one, other))
    return Node(one.kind, one.cls, attrs=first), Node(other.kind, other.cls, attrs=second)


def _compared(node: Node) -> Any:
    if node.kind == "function":
        return {name: fact for name, fact in node.meta.items() if name != "code"}  # older checkpoints lack it
    return None if node.kind in ("set", "frozenset") else node.meta


def _place(node: Node) -> Any:
    """How far a file was read; None if that is not known."""
    return node.meta.get("place") if isinstance(node.meta, dict) else None


def _class(node: Node) -> str:
    return node.cls.rpartition(":")[2] or node.kind


def _facts_text(meta: Any) -> str:
    return _short(str(meta))


def _short(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."
