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
    """The scopes, the modules that only an optimizer knows, and the world."""
    return {**snapshot.roots, "hidden": snapshot.hidden, "world": snapshot.world}


class Paths:
    """The shortest path from a name to each node of a snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._came: dict[int, tuple[int, str]] = {}
        self._queue: deque[int] = deque()
        for scope, names in all_roots(snapshot).items():
            for name, slot in names.items():
                self._meet(slot, -1, f"{scope}:{name}")
        while self._queue:
            number = self._queue.popleft()
            if number < len(snapshot.nodes):
                for label, slot in snapshot.nodes[number].slots():
                    self._meet(slot, number, label)

    def _meet(self, slot: Slot, parent: int, label: str) -> None:
        if type(slot) is Ref and int(slot) not in self._came:
            self._came[int(slot)] = (parent, label)
            self._queue.append(int(slot))

    def of(self, number: int) -> str:
        """One node's path; its number if no name leads to it."""
        if number not in self._came:
            return f"node {number}"
        labels = []
        while number != -1:
            number, label = self._came[number]
            labels.append(label)
        return pretty("".join(reversed(labels)))


def path_of(snapshot: Snapshot, number: int) -> str:
    """The shortest path to a node from any name."""
    return Paths(snapshot).of(number)
