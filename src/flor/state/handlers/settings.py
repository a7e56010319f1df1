"""Process-wide settings as nodes of the graph; they are put back when everything else is."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from flor.state.handler import Handler, Load, Walk
from flor.state.names import type_name
from flor.state.settings import SETTINGS, SURROUNDINGS
from flor.state.snapshot import Node, Slot, Snapshot


class SettingsHandler(Handler):
    """Settings of the interpreter and of libraries."""

    kind = "settings"

    def save(self, obj: Any, walk: Walk) -> Node:
        """Every setting as an attribute, plain or not."""
        objects = {name: walk.slot(value) for name, value in obj.objects().items()}
        return Node(self.kind, type_name(obj), None, (), {**obj.read(), **objects})

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """Those that are objects."""
        present = live.objects()
        return ((slot, present[name]) for name, slot in node.attrs.items() if name in present)

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """Each process has one."""
        return SETTINGS


class SurroundingsHandler(SettingsHandler):
    """The working folder and the environment."""

    kind = "surroundings"

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """Each process has one."""
        return SURROUNDINGS


def put_settings(snapshot: Snapshot, load: Load, restored: Collection[int]) -> None:
    """Put the saved settings back, of the nodes that are restored; outside of everything that itself sets some."""
    for number in sorted(restored):
        node = snapshot.nodes[number]
        if node.kind in (SettingsHandler.kind, SurroundingsHandler.kind):
            settings = SETTINGS if node.kind == SettingsHandler.kind else SURROUNDINGS
            values = {name: load(slot) for name, slot in node.attrs.items()}
            settings.write(values)
            settings.put(values)
