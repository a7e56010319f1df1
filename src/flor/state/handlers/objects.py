"""Objects of classes made in python: `__dict__` and `__slots__`. Modules, optimizers and schedulers are such."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flor.state import attributes
from flor.state.handler import MISSING, Handler, Load, Walk
from flor.state.handlers.shells import attribute_slots, attribute_values, new_shell
from flor.state.names import type_name
from flor.state.snapshot import Node, Slot

SHARED = "__dict__"
"""The attribute that says of which other object's `__dict__` this one's is: all of a class may have one state."""


class ObjectHandler(Handler):
    """Any object whose attributes are all its state."""

    kind = "object"

    def save(self, obj: Any, walk: Walk) -> Node:
        """Its attributes, past properties and `__getattr__`."""
        own = attributes.namespace(obj)
        attrs, first = attribute_slots(obj, walk), walk.shares(own) if own is not None else None
        return Node(self.kind, type_name(obj), None, (), attrs if first is None else {**attrs, SHARED: first})

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """By attribute name."""
        return attributes.pairs(node.attrs, live)

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live object, or one whose `__init__` did not run."""
        return new_shell(node, load) if live is MISSING else live

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """All attributes, in the saved order, into the `__dict__` that it shares if it does."""
        values = attribute_values(node, load)
        first = values.pop(SHARED, None)
        if first is not None and attributes.namespace(obj) is not attributes.namespace(first):
            object.__setattr__(obj, SHARED, attributes.namespace(first))
        attributes.write(obj, values)
