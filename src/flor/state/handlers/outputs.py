"""Progress bars, terminal output, loggers: kept like other objects, but not compared, since they hold times."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

from flor.state import attributes
from flor.state.handler import MISSING, Handler, Load, Walk
from flor.state.handlers.objects import ObjectHandler
from flor.state.handlers.shells import attribute_values
from flor.state.names import type_name
from flor.state.snapshot import Node, Slot

_CLOCKS = frozenset(("start_t", "last_print_t", "start_time", "stop_time", "_created"))
"""Readings of a clock that belong to this process; a bar would else show the time since the run was recorded."""

_LINKS = frozenset(("name", "parent", "manager", "_cache"))
"""What a logger has of the tree of all loggers."""


class OutputHandler(ObjectHandler):
    """An object of a library for output."""

    kind = "output"

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """All attributes but readings of a clock."""
        here = {name: value for name, value in attributes.read(obj).items() if name in _CLOCKS}
        super().fill(node, obj, load)
        if here:
            attributes.write(obj, {**attributes.read(obj), **here})


class LoggerHandler(Handler):
    """A logger, by its name: level, handlers, filters and attributes, without the loggers around it."""

    kind = "logger"

    def save(self, obj: Any, walk: Walk) -> Node:
        """The name and the attributes."""
        own = {name: value for name, value in attributes.read(obj).items() if name not in _LINKS}
        slots = {name: walk.slot(value) for name, value in own.items()}
        if walk.project(type(obj).__module__):
            slots["__class__"] = walk.slot(type(obj))
        return Node(self.kind, type_name(obj), {"name": str(obj.name)}, (), slots)

    def accepts(self, node: Node, live: Any) -> bool:
        """The logger of that name."""
        return super().accepts(node, live) and str(live.name) == node.meta["name"]

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """By attribute name."""
        return attributes.pairs(node.attrs, live)

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live logger, or the one of that name."""
        return logging.getLogger(node.meta["name"]) if live is MISSING else live

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """The attributes."""
        own = attributes.namespace(obj) or {}
        links = {name: own[name] for name in _LINKS if name in own}
        attributes.write(obj, {**links, **attribute_values(node, load)})
        obj.manager._clear_cache()  # what it has answered to isEnabledFor
