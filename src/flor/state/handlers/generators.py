"""What holds state that nobody can read: suspended code, and memory shared with other processes."""

from __future__ import annotations

from queue import SimpleQueue
from typing import Any

from flor.state.handler import MISSING, Handler, Load, Refused, Walk
from flor.state.inert import shared_reason
from flor.state.names import type_name
from flor.state.snapshot import Node


class GeneratorHandler(Handler):
    """Generators and coroutines; a finished one would do no harm but says nothing either."""

    kind = "generator"

    def save(self, obj: Any, walk: Walk) -> Node:
        """Always refused."""
        raise Refused(f"the {type(obj).__name__} {obj.__qualname__} is suspended code, whose state cannot be saved")


class SimpleQueueHandler(Handler):
    """queue.SimpleQueue: an empty one is like any other, what is in a full one cannot be looked at."""

    kind = "simple-queue"

    def save(self, obj: Any, walk: Walk) -> Node:
        """Refused unless it is empty."""
        if not obj.empty():
            raise Refused("what waits in a SimpleQueue cannot be looked at without taking it")
        return Node(self.kind, type_name(obj))

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live queue if it is empty too."""
        return live if live is not MISSING and live.empty() else SimpleQueue()


class SharedHandler(Handler):
    """Values of multiprocessing that live in shared memory or in another process."""

    kind = "shared"

    def save(self, obj: Any, walk: Walk) -> Node:
        """Always refused."""
        raise Refused(shared_reason(type(obj)))
