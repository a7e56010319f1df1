"""Context variables and thread-local data: what they hold in the main thread."""

from __future__ import annotations

from collections.abc import Iterator
from threading import local
from typing import Any

from flor.state.handler import MISSING, Handler, Load, Walk
from flor.state.handlers.shells import class_of
from flor.state.names import type_name
from flor.state.snapshot import Node, Slot


class ContextVariableHandler(Handler):
    """contextvars.ContextVar; one that has no value is left alone."""

    kind = "context-variable"

    def save(self, obj: Any, walk: Walk) -> Node:
        """The value in this context."""
        value = obj.get(MISSING)
        if value is MISSING:
            return Node("inert", type_name(obj), {"what": "context variable"})
        return Node(self.kind, type_name(obj), {"name": obj.name}, [walk.slot(value)])

    def accepts(self, node: Node, live: Any) -> bool:
        """The variable of the same name."""
        return super().accepts(node, live) and live.name == node.meta["name"]

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """The value."""
        value = live.get(MISSING)
        if value is not MISSING:
            yield node.items[0], value

    def lacking(self, node: Node) -> str:
        """Another variable of that name would not be the one that the script asks."""
        return "this process has no such variable at this place"

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live variable."""
        return live

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """The saved value, unless it is there."""
        value = load(node.items[0])
        if obj.get(MISSING) is not value:
            obj.set(value)


class ThreadLocalHandler(Handler):
    """threading.local: the attributes that this thread sees."""

    kind = "thread-local"

    def save(self, obj: Any, walk: Walk) -> Node:
        """Its attributes, and its class if that is the project's."""
        attrs = {name: walk.slot(value) for name, value in _seen(obj).items()}
        if walk.project(type(obj).__module__):
            attrs["__class__"] = walk.slot(type(obj))
        return Node(self.kind, type_name(obj), None, (), attrs)

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """By attribute name."""
        present = {**_seen(live), "__class__": type(live)}
        return ((slot, present[name]) for name, slot in node.attrs.items() if name in present)

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live object or a new one."""
        cls = local if live is MISSING and "__class__" not in node.attrs else class_of(node, load)
        return local.__new__(cls) if live is MISSING else live

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """All attributes."""
        own = _seen(obj)
        own.clear()
        own.update((name, load(slot)) for name, slot in node.attrs.items() if name != "__class__")


def _seen(obj: Any) -> dict[str, Any]:
    """The attributes of this thread, past a `__getattribute__` of the script's."""
    found: dict[str, Any] = local.__getattribute__(obj, "__dict__")
    return found
