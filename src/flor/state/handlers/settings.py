"""Process-wide settings as nodes of the graph; they are put back when everything else is."""

from __future__ import annotations

from typing import Any

from flor.state.handler import Handler, Load, Walk
from flor.state.names import type_name
from flor.state.settings import SETTINGS, SURROUNDINGS
from flor.state.snapshot import Node, Snapshot


class SettingsHandler(Handler):
    """Settings of the interpreter and of libraries."""

    kind = "settings"

    def save(self, obj: Any, walk: Walk) -> Node:
        """Every setting as an attribute."""
        return Node(self.kind, type_name(obj), None, (), obj.read())

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """Each process has one."""
        return SETTINGS


class SurroundingsHandler(SettingsHandler):
    """The working folder and the environment."""

    kind = "surroundings"

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """Each process has one."""
        return SURROUNDINGS


def put_settings(snapshot: Snapshot) -> None:
    """Put the saved settings back; outside of everything that itself sets some of them."""
    for node in snapshot.nodes:
        if node.kind == SettingsHandler.kind:
            SETTINGS.write(node.attrs)
        elif node.kind == SurroundingsHandler.kind:
            SURROUNDINGS.write(node.attrs)
