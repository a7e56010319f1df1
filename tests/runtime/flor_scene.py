"""A session around instrumented text, with a sink that remembers what it was given."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import flor
from flor.model.positions import LoopId
from flor.model.records import Channel, Tag
from flor.runtime import current, hooks
from flor.runtime.logbook import Logbook
from flor.runtime.session import Session
from flor.runtime.sites import LoopFrame
from flor.runtime.statements import Statements
from flor.source.instrument import instrument
from flor.state.values import encode_value
from flor.store.codec import LEVEL

FILE = "s.py"


@dataclass
class Kept:
    """One record as the sink got it: `position` is `(loop ordinal, occurrence, iteration)` for each loop under way."""

    channel: Channel
    name: str
    statement: str
    position: tuple[tuple[str, int, int], ...]
    tag: Tag
    data: bytes


@dataclass
class Memory:
    """A sink that keeps everything."""

    texts: list[str] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)

    def intern(self, text: str) -> int:
        if text not in self.texts:
            self.texts.append(text)
        return self.texts.index(text)

    def log(
        self, channel: int, name_id: int, statement_id: int, position: bytes, tag: int, data: bytes, time: float
    ) -> None:
        levels = tuple((self._short(loop), at, turn) for loop, at, turn in LEVEL.iter_unpack(position))
        name, statement = self.texts[name_id], self.texts[statement_id]
        self.kept.append(Kept(Channel(channel), name, statement, levels, Tag(tag), data))

    def _short(self, number: int) -> str:
        loop = LoopId.parse(self.texts[number])
        return f"{loop.function}#{loop.ordinal}".removeprefix("<module>")


@dataclass
class Listener:
    """A conductor that lets everything happen and remembers what it was told."""

    events: list[tuple[str, str, int]] = field(default_factory=list)

    def entering(self, frame: LoopFrame, caller: FrameType) -> None:
        self._hear("entering", frame, 0)

    def boundary(self, frame: LoopFrame, caller: FrameType, now: float, index: int) -> bool:
        self._hear("boundary", frame, index)
        return True

    def leaving(self, frame: LoopFrame, caller: FrameType, now: float) -> None:
        self._hear("leaving", frame, frame.begun_iterations)

    def left(self, frame: LoopFrame, now: float) -> None:
        self._hear("left", frame, frame.begun_iterations)

    def _hear(self, what: str, frame: LoopFrame, index: int) -> None:
        self.events.append((what, frame.site.loop.partition("::")[2], index))


@dataclass
class Scene:
    """Everything of one session."""

    sink: Memory
    listener: Listener
    session: Session
    logbook: Logbook
    scope: dict[str, Any] = field(default_factory=dict)

    def play(self, text: str, probes: Set[int] = frozenset()) -> list[Any]:
        """Run a text with our calls in it; what `here(value)` in it noted, each with its position."""
        tree = instrument(ast.parse(textwrap.dedent(text)), FILE, probes=probes)
        self.scope.update(__name__="scene", _flor=hooks, flor=flor, here=self.here)
        exec(compile(tree, FILE, "exec"), self.scope)
        return self.places

    @property
    def places(self) -> list[Any]:
        """Value and position of each `here`, in order."""
        return [(int(kept.data), kept.position) for kept in self.sink.kept if kept.name == "here"]

    def here(self, value: int) -> None:
        """Log a number."""
        flor.log("here", value)


@contextmanager
def open_scene() -> Iterator[Scene]:
    """A session of its own, made the current one."""
    sink, listener = Memory(), Listener()
    session = Session(sink.intern, listener)
    name_of: Callable[[str], str | None] = {FILE: FILE}.get
    logbook = Logbook(sink, session, Statements(name_of, sink.intern), encode_value)
    session.logbook = logbook
    current.session = session
    try:
        yield Scene(sink, listener, session, logbook)
    finally:
        current.session = None
