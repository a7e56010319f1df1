"""`flor.loop` and `flor.generator`: loops that the user names."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sized
from operator import length_hint
from types import FrameType, GeneratorType
from typing import Any, Generic, TypeVar

from flor.errors import UsageError
from flor.explicit.beginning import begun
from flor.explicit.blocks import refuse_if_skipped
from flor.model.explicit import Construct
from flor.runtime.explicit.recording import PASSES
from flor.runtime.explicit.replaying import ExplicitReplayer
from flor.runtime.explicit.session import ExplicitSession, drop_above, pop, push
from flor.runtime.guarding import Guarded
from flor.runtime.session import Session, take
from flor.runtime.sites import LoopFrame, clock

Item = TypeVar("Item")


def loop(name: str, iterable: Iterable[Item]) -> Iterable[Item]:
    """A named loop over an iterable: its iterations can be jumped to and divided among the workers of a replay."""
    session = begun()
    if session is None:
        return iterable
    return NamedLoop(Construct.LOOP.named(name), iterable, session, sys._getframe(1))


def generator(iterable: Iterable[Item], pid: int = 0, nparts: int = 1) -> Iterable[Item]:
    """The main loop of a script whose checkpoints are partial: a replay passes through it, skipping blocks at first.

    A replay that was begun as a plain script replays part `pid` of `nparts`; otherwise these are not asked for.
    """
    if not 0 <= pid < nparts:
        raise UsageError(f"flor.generator was given part {pid} of {nparts}.", todo="Parts are numbered from 0.")
    session = begun()
    if session is None:
        return iterable
    if isinstance(session, ExplicitSession) and session.steering is not None and nparts > 1:
        session.steering.take_part(pid, nparts)
    return NamedLoop(Construct.GENERATOR.named("main"), iterable, session, sys._getframe(1))


class NamedLoop(Generic[Item]):
    """An iterable that tells a session of its iterations."""

    def __init__(self, loop: str, iterable: Iterable[Item], session: Session, caller: FrameType) -> None:
        self.loop = loop
        self.iterable = iterable
        self.session = session
        self.caller = id(caller)
        self.depth = len(session.stack)

    def __iter__(self) -> Iterator[Item]:
        if self._is_seen_anyway():
            return iter(self.iterable)
        return turns(self.session, self.loop, self.iterable)

    def __length_hint__(self) -> int:
        return length_hint(self.iterable)

    def __len__(self) -> int:
        if isinstance(self.iterable, Sized):
            return len(self.iterable)
        raise TypeError(f"the iterable of {self.loop} has no length")

    def _is_seen_anyway(self) -> bool:
        """True if we are what an instrumented `for` of the same function iterates over: that loop is followed."""
        stack = self.session.stack
        return len(stack) > self.depth and stack[self.depth].caller == self.caller


def turns(session: Session, loop: str, iterable: Iterable[Any]) -> Iterator[Any]:
    """The items, with the session told of each; a block that was left open in an iteration is forgotten."""
    frame = push(session, loop, sys._getframe(1))
    if frame is None:
        yield from iterable
        return
    if isinstance(iterable, GeneratorType) or loop.startswith(Construct.GENERATOR.value):
        frame.key = PASSES
    try:
        iterator = iter(iterable) if isinstance(session, ExplicitSession) else iterable
        instead = session.conductor.entering(frame, sys._getframe(1))
        items = instead(iterator) if instead else session.usual(frame, iterator)
        for item in items:
            yield item
            refuse_if_skipped(drop_above(session, frame))
            _jump_late(session, frame, iterator)
        session.conductor.leaving(frame, sys._getframe(1), clock())
    finally:
        pop(session, frame)


def _jump_late(session: Session, frame: LoopFrame, iterator: Iterable[Any]) -> None:
    """Pass over items once the first iteration has said, by `flor.checkpoint`, what the loop hands on."""
    conductor = session.conductor
    replayer = conductor.conductor if isinstance(conductor, Guarded) else conductor
    if isinstance(replayer, ExplicitReplayer) and (ahead := replayer.ahead(frame)):
        take(iter(iterator), ahead)
        frame.seen += ahead
