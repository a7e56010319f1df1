"""A session whose loops and blocks are those that the user named."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any, Protocol

from flor.model.records import Note
from flor.runtime.explicit.declared import Declared
from flor.runtime.session import Conductor, Session
from flor.runtime.sites import LoopFrame


class Steering(Protocol):
    """Replay in the user's own process: which part of the run it is to replay."""

    def take_part(self, pid: int, nparts: int) -> None:
        """Replay part `pid` of `nparts`."""
        ...

    def resume(self, args: Any) -> None:
        """Replay from `args.start` to `args.stop`."""
        ...

    def argument(self, name: str) -> Any:
        """The recorded value of a parameter; KeyError if there is none."""
        ...


class ExplicitSession(Session):
    """Keeps the stack of named loops and blocks; loops of instrumented code go by unseen."""

    def __init__(
        self, intern: Callable[[str], int], conductor: Conductor, declared: Declared, note: Callable[[Note], None]
    ) -> None:
        super().__init__(intern, conductor, in_chunks=False)
        self.declared = declared
        self.note = note
        self.steering: Steering | None = None  # who has a say in a replay that the user started as a plain script
        self.begun = False  # True from the first explicit call on: what was printed before is not in the record
        self.wanted = True  # what the user said of the block that is being entered

    # -- what instrumented code calls: a worker compiles with probes watched, and so with these calls ----

    def iterate(self, loop: str, iterable: Iterable[Any], caller: FrameType) -> Iterable[Any]:
        """Leave a loop of the source alone."""
        return iterable

    def start_while(self, loop: str, caller: FrameType) -> None:
        """Leave a loop of the source alone."""

    def turn(self, loop: str, caller: FrameType) -> bool:
        """Leave a loop of the source alone."""
        return True

    def done(self, loop: str, caller: FrameType) -> None:
        """Leave a loop of the source alone."""

    def end(self, loop: str, caller: FrameType) -> None:
        """Leave a loop of the source alone."""

    def enter(self, function: str) -> None:
        """Which functions are entered is not asked."""


def push(session: Session, loop: str, caller: FrameType) -> LoopFrame | None:
    """Begin a named loop or block; None while torch records a program of its own, or deep in a recursion."""
    site = session.sites.get(loop)
    if site is not None:
        site.demoted = False  # what the user has named is never too short to be followed
    return session.begin(loop, caller)


def pop(session: Session, frame: LoopFrame) -> None:
    """End a named loop or block, in whatever way it was left."""
    drop_above(session, frame)
    if session.stack and session.stack[-1] is frame:
        session.pop()


def drop_above(session: Session, frame: LoopFrame) -> list[LoopFrame]:
    """Forget what was begun inside of this frame and never ended: left by `break`, `continue` or an exception."""
    if frame not in session.stack:
        return []
    depth = session.stack.index(frame) + 1
    lost = session.stack[depth:]
    for left in lost:
        left.site.active -= 1
    del session.stack[depth:]
    session.context = frame.context
    return lost
