"""What may differ between a recorded state and one of a replay without anything being wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from flor.state.snapshot import Node, Ref, Slot, Snapshot


def _no_value(recorded: Slot, now: Slot, owner: str, attribute: str) -> bool:
    return False


def _no_name(name: str) -> bool:
    return False


@dataclass(frozen=True)
class Allowance:
    """Plain values that may differ, by the object that has them, and classes and methods that only the replay has.

    The object is the nearest one around the value that is no built-in container, by its class (empty for a variable of
    a scope), with the attribute that leads to the value.
    """

    values: Callable[[Slot, Slot, str, str], bool] = _no_value
    added: Callable[[str], bool] = _no_name

    def without_added(self, node: Node, snapshot: Snapshot) -> Node:
        """A list's node without objects of added classes, a class's node without added methods."""
        if node.kind == "list":
            return replace(node, items=[slot for slot in node.items if not self._is_of_added(slot, snapshot)])
        if node.kind == "class":
            owner = node.meta["name"]
            return replace(node, attrs={n: slot for n, slot in node.attrs.items() if not self.added(f"{owner}.{n}")})
        return node

    def _is_of_added(self, slot: Slot, snapshot: Snapshot) -> bool:
        return type(slot) is Ref and self.added(snapshot.nodes[slot].cls)


NOTHING_DIFFERS = Allowance()
