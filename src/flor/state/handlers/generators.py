"""What holds state that nobody can read: suspended code, and memory shared with other processes."""

from __future__ import annotations

from typing import Any

from flor.state.handler import Handler, Refused, Walk
from flor.state.inert import shared_reason
from flor.state.snapshot import Node


class GeneratorHandler(Handler):
    """Generators and coroutines; a finished one would do no harm but says nothing either."""

    kind = "generator"

    def save(self, obj: Any, walk: Walk) -> Node:
        """Always refused."""
        raise Refused(f"the {type(obj).__name__} {obj.__qualname__} is suspended code, whose state cannot be saved")


class SharedHandler(Handler):
    """Values of multiprocessing that live in shared memory or in another process."""

    kind = "shared"

    def save(self, obj: Any, walk: Walk) -> Node:
        """Always refused."""
        raise Refused(shared_reason(type(obj)))
