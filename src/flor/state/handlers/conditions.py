"""Conditions, semaphores of multiprocessing and futures: threads and processes that wait at them are left alone."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import Any

from flor.state import attributes
from flor.state.handler import MISSING, Handler, Load, Refused, Walk
from flor.state.handlers.objects import ObjectHandler
from flor.state.names import type_name
from flor.state.snapshot import Node, Slot

_MADE = frozenset(vars(threading.Condition()))


class ConditionHandler(Handler):
    """threading.Condition: its lock and attributes of the script's. What waits at it are threads, left alone."""

    kind = "condition"

    def save(self, obj: Any, walk: Walk) -> Node:
        """The lock and the attributes that are not made by the class itself."""
        own = {name: walk.slot(value) for name, value in attributes.read(obj).items() if name not in _MADE}
        if walk.project(type(obj).__module__):
            own["__class__"] = walk.slot(type(obj))
        return Node(self.kind, type_name(obj), None, [walk.slot(obj._lock)], own)

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """The lock and the attributes."""
        yield node.items[0], live._lock
        yield from attributes.pairs(node.attrs, live)

    def needs(self, node: Node) -> Iterable[Slot]:
        """The lock."""
        return [*node.items, *super().needs(node)]

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live one, or a new one around the lock."""
        if live is not MISSING:
            return live
        made = object.__new__(load(node.attrs["__class__"]) if "__class__" in node.attrs else threading.Condition)
        threading.Condition.__init__(made, load(node.items[0]))
        return made

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """The attributes."""
        own = attributes.namespace(obj) or {}
        for name in own.keys() - _MADE - node.attrs.keys():
            del own[name]
        own.update((name, load(slot)) for name, slot in node.attrs.items() if name != "__class__")


class SemaphoreHandler(Handler):
    """The semaphore under the locks, events and semaphores of multiprocessing: its value."""

    kind = "semaphore"

    def save(self, obj: Any, walk: Walk) -> Node:
        """The value."""
        meta = {"kind": obj.kind, "value": obj._get_value(), "held": obj._count()}
        return Node(self.kind, type_name(obj), meta)

    def accepts(self, node: Node, live: Any) -> bool:
        """One of the same kind; a lock must be held as often by this process."""
        same = super().accepts(node, live) and live.kind == node.meta["kind"]
        return same and (bool(live.kind) or live._count() == node.meta["held"])

    def lacking(self, node: Node) -> str:
        """It belongs to the system."""
        return "it belongs to the system, and this process has none at this place"

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live one."""
        return live

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """The saved value."""
        for _ in range(node.meta["value"] - obj._get_value()):
            obj.release()
        for _ in range(obj._get_value() - node.meta["value"]):
            obj.acquire(False)


class FutureHandler(ObjectHandler):
    """concurrent.futures.Future, unless its call is under way."""

    kind = "future"

    def save(self, obj: Any, walk: Walk) -> Node:
        """Its attributes."""
        if obj._state == "RUNNING":
            raise Refused("a call is under way, whose state cannot be saved")
        return super().save(obj, walk)
