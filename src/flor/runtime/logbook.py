"""Where log records go on their way to the journal: position, statement and value in one frame."""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from mmap import mmap
from threading import get_ident
from time import time
from types import CodeType, FrameType
from typing import Any, Protocol

from flor.model.records import Channel, Tag
from flor.runtime.session import Session
from flor.runtime.sites import LoopFrame
from flor.runtime.speakers import Speakers
from flor.runtime.statements import Statements
from flor.store.codec import LEVEL

LAST = struct.Struct("<I")  # the last part of a LEVEL
pack_iteration = LAST.pack
FLOR = Channel.FLOR
STDOUT = Channel.STDOUT


class Sink(Protocol):
    """What takes log records: a journal."""

    def intern(self, text: str) -> int:
        """The number of a text."""
        ...

    def log(
        self, channel: int, name_id: int, statement_id: int, position: bytes, tag: int, data: bytes, time: float
    ) -> None:
        """Take one record."""
        ...


class Logbook:
    """Writes log records for the session of this process."""

    def __init__(
        self,
        sink: Sink,
        session: Session,
        statements: Statements,
        encode: Callable[[Any], tuple[Tag, bytes]],
        speakers: Speakers | None = None,
    ) -> None:
        self.sink = sink
        self.session = session
        self.statements = statements
        self.encode = encode
        self.speakers = speakers or Speakers()
        self._names: dict[str, int] = {}
        self.records = 0
        self.lost = 0  # pieces that could not be kept; a replay that lost any is not exact
        self.stand_ins: list[CodeType] = []  # functions of ours that stand in for a library's
        self.write_stdout: Callable[[str], int] | None = None  # ours, if stdout is watched
        self._log: Callable[..., None] = sink.log
        self._stack = session.stack

    def only_note_prints(self, flag: mmap) -> None:
        """In a forked child of a recorded script: nothing is kept but whether it printed."""

        def log(channel: int, *_: Any) -> None:
            if channel == Channel.STDOUT:
                flag[0] = 1

        self._log = log

    def text(self, channel: Channel, text: str, frame: FrameType) -> None:
        """A piece that was written to a stream."""
        name = self.speakers.writer(frame) if channel is STDOUT else ""
        self.add(channel, name, (Tag.STR, text.encode("utf-8", "surrogateescape")), frame)

    def value(self, channel: Channel, name: str, value: Any, frame: FrameType) -> None:
        """A named value."""
        self.add(channel, name, self.encode(value), frame)

    def add(self, channel: Channel, name: str, value: tuple[Tag, bytes], frame: FrameType) -> None:
        """A value as it is written, logged by the nearest frame of the project."""
        name = name if type(name) is str else _as_name(name)
        self._write(channel, self._name(name), self.statements.of(frame), value[0], value[1])

    def at(self, statement: str, name: str, value: Any) -> None:
        """A value that `flor.log` takes at a statement known from the source: the cheapest way to log."""
        names = self._names
        if type(name) is not str:
            name = _as_name(name)
        if self.statements.by_place:
            tag, data = self.encode(value)
            at = names.get(statement) or self._name(statement)
            self._write(FLOR, names.get(name) or self._name(name), at, tag, data)
        else:
            self.value(FLOR, name, value, sys._getframe(2))

    def _name(self, name: str) -> int:
        number = self._names.get(name)
        if number is None:
            number = self._names[name] = self.sink.intern(name)
        return number

    def _write(self, channel: Channel, name: int, statement: int, tag: Tag, data: bytes) -> None:
        """Write one record; this is the hot path of every log statement."""
        position, stack = b"", self._stack
        if stack and get_ident() == self.session.thread:
            at = stack[-1]
            begun = at.seen if at.given is None else at.given()
            position = (at.head or self._head(at)) + pack_iteration(begun - 1 if begun else 0)
        self._log(channel, name, statement, position, tag, data, time())
        self.records += 1

    def _head(self, at: LoopFrame) -> bytes:
        """The packed position up to the iteration; it stays if the loops around can't go on before this one ends."""
        around = [LEVEL.pack(loop.site.number, loop.occurrence, loop.iteration) for loop in self._stack]
        head = b"".join(around)[: -LAST.size]
        if at.steady:
            at.head = head
        self.session.logged()
        return head


def _as_name(name: Any) -> str:
    """The name of a value that was given another thing for a name: logging never raises into training."""
    try:
        return str(name)
    except Exception:
        return f"<{type(name).__name__}>"
