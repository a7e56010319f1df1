"""Numbers that are addresses: kept as whose they are, since another process has its objects at other places.

`calls[id(module)] += 1` is common, and so are `data_ptr()` and `hash(obj)` as keys. When a snapshot is named by its
content, off the training thread, each such number becomes a slot that says of which object it is the address.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from flor.state.snapshot import Address, Node, Ref, Slot, Snapshot

LOW = 1 << 32  # no object is at a lower address
NEAR = 1 << 24  # bytes: as near to a known object as this, a number may be the address of one that is gone
ALIGNED = 16
SHORTEST, LONGEST = 10, 20  # characters of an address as text
ID, HASH, DATA = "id", "hash", "data"
DECIMAL, HEXADECIMAL = "decimal", "hexadecimal"


@dataclass(frozen=True, slots=True)
class Places:
    """Where the objects of one walk were, by number of their nodes; nothing of them is kept alive."""

    ids: dict[int, Ref]
    regions: list[tuple[int, Ref]]


def name_addresses(snapshot: Snapshot) -> None:
    """Put an address in the place of each number, and each text, that is one; a second call does nothing."""
    places, snapshot.places = snapshot.places, None
    if places is None:
        return
    finder = _Finder(snapshot, places)
    for node in snapshot.nodes:
        if node.items and _candidates(node.items):
            items = [finder.slot(slot) for slot in node.items]
            if any(type(slot) is Address for slot in items):
                _replace(node, items)
        if node.attrs and _candidates(node.attrs.values()):
            node.attrs = {name: finder.slot(slot) for name, slot in node.attrs.items()}
    for names in snapshot.roots.values():
        if _candidates(names.values()):
            names.update((name, finder.slot(slot)) for name, slot in list(names.items()))


def _candidates(slots: Iterable[Slot]) -> bool:
    return any(map(may_be_address, slots))


def may_be_address(slot: Slot) -> bool:
    """True if a slot is a large number, or the text of one."""
    kind = type(slot)
    if kind is int:
        return bool(slot > LOW)
    return kind is str and SHORTEST <= len(slot) <= LONGEST and _number(slot) > LOW


def _number(text: str) -> int:
    """The address that a text is, as `str(id(x))` and `hex(id(x))` give it; 0 if it is none."""
    if text.isdecimal() and text.isascii():
        return int(text)
    try:
        return int(text, 16) if text.startswith("0x") else 0
    except ValueError:
        return 0


class _Finder:
    """Looks numbers up among the places of a snapshot's objects."""

    def __init__(self, snapshot: Snapshot, places: Places) -> None:
        self._nodes, self._ids = snapshot.nodes, places.ids
        self._data: dict[int, tuple[Ref, int]] = {}
        for address, ref in places.regions:
            for low, _ in [(0, 0), *snapshot.nodes[ref].meta.get("ranges", ())]:
                self._data.setdefault(address + low, (ref, low))
        self._sorted: list[int] | None = None

    def slot(self, slot: Slot) -> Slot:
        """The address that a slot is, or the slot itself."""
        if type(slot) is int:
            return self._find(slot, slot, "") if slot > LOW else slot
        if type(slot) is str and SHORTEST <= len(slot) <= LONGEST:
            number = _number(slot)
            base = HEXADECIMAL if slot.startswith("0x") else DECIMAL
            return self._find(number, slot, base) if number > LOW and _shown(number, base) == slot else slot
        return slot

    def _find(self, number: int, slot: Slot, text: str) -> Slot:
        if number in self._ids:
            return Address(ID, slot, int(self._ids[number]), 0, text)
        if number in self._data:
            ref, offset = self._data[number]
            return Address(DATA, slot, int(ref), offset, text)
        if (number << 4) in self._ids:
            return Address(HASH, slot, int(self._ids[number << 4]), 0, text)
        gone = any(whole % ALIGNED == 0 and self._is_near(whole) for whole in (number, number << 4))
        return Address(ID, slot, None, 0, text) if gone else slot

    def _is_near(self, number: int) -> bool:
        if self._sorted is None:
            self._sorted = sorted([*(key for key in self._ids if key > 0), *self._data])
        at = bisect(self._sorted, number)
        return any(abs(number - near) < NEAR for near in self._sorted[max(0, at - 1) : at + 1])


def _replace(node: Node, items: Sequence[Slot]) -> None:
    """Give a node its new items; those of a set in an order that does not depend on where the objects are."""
    if node.kind not in ("set", "frozenset"):
        node.items = items
        return
    order = sorted(range(len(items)), key=lambda place: _rank(items[place]))
    moved = {old: new for new, old in enumerate(order)}
    node.items = [items[place] for place in order]
    node.meta = {**node.meta, "order": [moved[place] for place in node.meta["order"]]}


def _rank(slot: Slot) -> tuple[int, int]:
    if type(slot) is not Address:
        return 0, 0
    return (2, 0) if slot.node is None else (1, slot.node)


def address_now(address: Address, obj: Any) -> Slot:
    """The number or text that stands for the object in this process."""
    if address.form == DATA:
        number = obj.address + address.offset
    else:
        number = id(obj) if address.form == ID else object.__hash__(obj)
    return _shown(number, address.text) if address.text else number


def _shown(number: int, text: str) -> str:
    return hex(number) if text == HEXADECIMAL else str(number)
