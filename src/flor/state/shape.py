"""Whether a graph that was read back has the shape of one that flor writes: every reference leads to a node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from flor.state.snapshot import NOTHING, Node, Slot, Snapshot, target


def check_shape(snapshot: Snapshot) -> None:
    """Raise ValueError for references without a node, blobs without bytes, and parts of another type."""
    for names in (*snapshot.roots.values(), snapshot.world, snapshot.hidden):
        _check_slots(names, snapshot)
    for scope, listed in snapshot.optional.items():
        _must(type(scope) is str and type(listed) is list, "names that are no list")
    for unkept in snapshot.unkept.values():
        _must(type(unkept) is dict, "names that are no object")
    for blob in snapshot.blobs:
        _must(
            whole(blob.nbytes) >= 0 and type(blob.name) is str and type(blob.dtype) is str, "bulk data without a size"
        )
    for node in snapshot.nodes:
        _check_node(node, snapshot)


def _check_node(node: Node, snapshot: Snapshot) -> None:
    _must(type(node.kind) is str and type(node.cls) is str, "a node without a kind")
    _must(type(node.items) is list and (type(node.attrs) is dict or node.attrs is NOTHING), "a node without children")
    _check_slots(node.attrs, snapshot)
    _check_all(node.items, snapshot)
    _must(node.blob is None or 0 <= whole(node.blob) < len(snapshot.blobs), "a node whose bulk data is not there")


def _check_slots(names: Mapping[str, Slot], snapshot: Snapshot) -> None:
    _must(all(type(name) is str for name in names), "a name that is no text")
    _check_all(names.values(), snapshot)


def _check_all(slots: Iterable[Slot], snapshot: Snapshot) -> None:
    count = len(snapshot.nodes)
    targets = (target(slot) for slot in slots)
    _must(all(number is None or 0 <= whole(number) < count for number in targets), "a reference that leads nowhere")


def whole(number: object) -> int:
    """The number itself, if it is a whole one."""
    if type(number) is not int:
        raise ValueError(f"{number!r} is no whole number")
    return number


def _must(fits: bool, what: str) -> None:
    if not fits:
        raise ValueError(what)
