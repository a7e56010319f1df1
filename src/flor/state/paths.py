"""Where a node is, in the words of the user's code."""

from __future__ import annotations

import re
from collections import deque

from flor.state.snapshot import Ref, Roots, Slot, Snapshot

_INNARDS = re.compile(r"\._(?:parameters|buffers|modules)\['([^']*)'\]")


def pretty(path: str) -> str:
    """`model._modules['fc']._parameters['weight'][0]` reads `model.fc.weight[0]`."""
    return _INNARDS.sub(r".\1", path)


def all_roots(snapshot: Snapshot) -> Roots:
    """The scopes and the world."""
    return {**snapshot.roots, "world": snapshot.world} if snapshot.world else snapshot.roots


def path_of(snapshot: Snapshot, number: int) -> str:
    """The shortest path to a node from any name."""
    return paths_of(snapshot, {number}).get(number, f"node {number}")


def paths_of(snapshot: Snapshot, numbers: set[int]) -> dict[int, str]:
    """The shortest path to each of some nodes."""
    found: dict[int, str] = {}
    came: dict[int, tuple[int, str]] = {}
    queue: deque[int] = deque()
    for scope, names in all_roots(snapshot).items():
        for name, slot in names.items():
            _meet(slot, -1, f"{scope}:{name}", came, queue)
    while queue and len(found) < len(numbers):
        number = queue.popleft()
        if number in numbers:
            found[number] = _spell(number, came)
        if number < len(snapshot.nodes):
            for label, slot in snapshot.nodes[number].slots():
                _meet(slot, number, label, came, queue)
    return found


def _meet(slot: Slot, parent: int, label: str, came: dict[int, tuple[int, str]], queue: deque[int]) -> None:
    if type(slot) is Ref and int(slot) not in came:
        came[int(slot)] = (parent, label)
        queue.append(int(slot))


def _spell(number: int, came: dict[int, tuple[int, str]]) -> str:
    labels = []
    while number != -1:
        number, label = came[number]
        labels.append(label)
    return pretty("".join(reversed(labels)))
