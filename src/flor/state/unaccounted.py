"""Under which names the program holds what a snapshot does not."""

from __future__ import annotations

import re
from collections import defaultdict

from flor.model.checkpoints import Unaccounted
from flor.state.paths import all_roots
from flor.state.snapshot import Ref, Snapshot

_THROUGH = frozenset(
    {"list", "dict", "tuple", "set", "frozenset", "deque", "cell", "method", "builtin", "reduced", "view", "output"}
    | {"logger", "function", "object-array"}
)
"""Kinds whose own names lead to what is in them."""

_NAME = re.compile(r"^\.([A-Za-z_]\w*)$")


def unaccounted(snapshot: Snapshot) -> tuple[Unaccounted, ...]:
    """Each object whose state is not in the snapshot, with the names of variables and attributes that lead to it."""
    if not snapshot.unaccounted:
        return ()
    above: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for number, node in enumerate(snapshot.nodes):
        for label, slot in node.slots():
            if type(slot) is Ref:
                above[int(slot)].append((number, label))
    names: dict[int, set[str]] = defaultdict(set)
    for roots in all_roots(snapshot).values():
        for name, slot in roots.items():
            if type(slot) is Ref:
                names[int(slot)].add(name)
    found = {}
    for number, reason in snapshot.unaccounted.items():
        held = tuple(sorted(_names(number, above, names, snapshot)))
        kind = snapshot.nodes[number].cls.replace(":", ".")
        found[held, kind] = Unaccounted(held, kind, reason)
    return tuple(found.values())


def _names(
    number: int, above: dict[int, list[tuple[int, str]]], names: dict[int, set[str]], snapshot: Snapshot
) -> set[str]:
    found: set[str] = set()
    seen, todo = {number}, [number]
    while todo:
        at = todo.pop()
        found |= names[at]
        for parent, label in above[at]:
            attribute = _NAME.match(label)
            if attribute:
                found.add(attribute[1])
            if snapshot.nodes[parent].kind in _THROUGH and parent not in seen:
                seen.add(parent)
                todo.append(parent)
    return found
