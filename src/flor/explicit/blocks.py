"""`flor.skipblock` and `flor.SkipBlock`: a block that replay may skip by restoring what it changed."""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

from flor.errors import BlockLeftOpen, NoOpenBlock
from flor.explicit.beginning import explicit
from flor.model.explicit import Construct
from flor.runtime.explicit.callnames import argument_names
from flor.runtime.explicit.declared import Given
from flor.runtime.explicit.session import ExplicitSession, pop, push
from flor.runtime.replaying import SKIP
from flor.runtime.sites import LoopFrame, clock


@dataclass(frozen=True)
class Opened:
    """A block that was stepped into; without a frame nobody is told of it."""

    name: str
    caller: int
    code: CodeType
    at: int
    session: ExplicitSession | None
    frame: LoopFrame | None

    def is_at(self, caller: FrameType) -> bool:
        """True if it was begun by this very call, earlier."""
        return self.caller == id(caller) and self.code is caller.f_code and self.at == caller.f_lasti


class OpenBlocks(threading.local):
    """The blocks that are open in a thread, innermost last."""

    def __init__(self) -> None:
        self.stack: list[Opened] = []

    def step_into(self, name: str, wanted: bool, caller: FrameType) -> bool:
        """Open a block; False if it is not to be executed."""
        self._leave_behind(caller)
        session = explicit()
        frame = push(session, Construct.BLOCK.named(name), caller) if session is not None else None
        self.stack.append(Opened(name, id(caller), caller.f_code, caller.f_lasti, session, frame))
        if session is None or frame is None:
            return True
        frame.seen = 1
        session.wanted = wanted
        try:
            session.conductor.entering(frame, caller)
        finally:
            session.wanted = True
        return bool(frame.key != SKIP)

    def end(self, objects: tuple[Any, ...], caller: FrameType) -> None:
        """Close the innermost block: keep what it changed, or put that back."""
        if not self.stack:
            raise NoOpenBlock(
                "skipblock.end() was called, and no block is open.",
                where=f"{caller.f_code.co_filename}:{caller.f_lineno}",
                todo="Call skipblock.step_into(name) before it.",
            )
        opened = self.stack.pop()
        session, frame = opened.session, opened.frame
        if session is None or frame is None or frame not in session.stack:
            return
        session.declared.block = Given(objects, argument_names(caller, len(objects)), caller)
        try:
            session.conductor.leaving(frame, caller, clock())
        finally:
            session.declared.block = Given()
            pop(session, frame)

    def _leave_behind(self, caller: FrameType) -> None:
        """Forget blocks that were left by `continue`, `break` or an exception, without their `end`."""
        depth = next((depth for depth, opened in enumerate(self.stack) if opened.is_at(caller)), None)
        if depth is None:
            return
        left = self.stack[depth]
        del self.stack[depth:]
        if left.frame is not None and left.session is not None:
            refuse_if_skipped([left.frame])
            pop(left.session, left.frame)


def refuse_if_skipped(frames: list[LoopFrame]) -> None:
    """A block whose state should have been put back at its `end`, which did not come."""
    for frame in frames:
        if frame.key == SKIP:
            raise BlockLeftOpen(
                "A block was skipped, and left without skipblock.end().",
                where=frame.site.loop,
                todo="Call end() on every path that leaves it.",
            )


class SkipBlock:
    """One named block, for those who nest or interleave several: each object knows its own beginning."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._open = OpenBlocks()

    def __repr__(self) -> str:
        return f"flor.SkipBlock({self.name!r})"

    def step_into(self, wanted: bool = True) -> bool:
        """Begin the block; False if its end will be restored instead of executing it."""
        return self._open.step_into(self.name, wanted, sys._getframe(1))

    def end(self, *objects: Any) -> None:
        """End the block; these objects are all that it may have changed."""
        self._open.end(objects, sys._getframe(1))


class SkipBlocks:
    """What `flor.skipblock` is: blocks by name, each ended by the next `end`."""

    def __init__(self) -> None:
        self._open = OpenBlocks()

    def step_into(self, name: str, wanted: bool = True) -> bool:
        """Begin a block; False if its end will be restored instead of executing it."""
        return self._open.step_into(name, wanted, sys._getframe(1))

    def end(self, *objects: Any) -> None:
        """End the innermost block; these objects are all that it may have changed."""
        self._open.end(objects, sys._getframe(1))


skipblock = SkipBlocks()
