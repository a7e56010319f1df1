"""Where log records go on their way to the journal: position, statement and value in one frame."""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from time import time
from types import CodeType, FrameType
from typing import Any, Protocol

from flor.model.records import Channel, Tag
from flor.runtime.session import Session
from flor.runtime.statements import Statements
from flor.store.codec import LEVEL

pack_level = LEVEL.pack


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
        self, sink: Sink, session: Session, statements: Statements, encode: Callable[[Any], tuple[Tag, bytes]]
    ) -> None:
        self.sink = sink
        self.session = session
        self.statements = statements
        self.encode = encode
        self.names: dict[str, int] = {}
        self.records = 0
        self.lost = 0  # pieces that could not be kept; a replay that lost any is not exact
        self.stand_ins: list[CodeType] = []  # functions of ours that stand in for a library's
        self._log = sink.log
        self._stack = session.stack
        self._statement = statements.of

    def text(self, channel: Channel, text: str, frame: FrameType) -> None:
        """A piece that was written to a stream."""
        self.add(channel, "", Tag.STR, text.encode("utf-8", "surrogateescape"), frame)

    def value(self, channel: Channel, name: str, value: Any, frame: FrameType) -> None:
        """A named value."""
        tag, data = self.encode(value)
        self.add(channel, name, tag, data, frame)

    def add(self, channel: Channel, name: str, tag: Tag, data: bytes, frame: FrameType) -> None:
        """Write one record; this is the hot path of every log statement."""
        number = self.names.get(name)
        if number is None:
            number = self.names[name] = self.sink.intern(name)
        position, stack = b"", self._stack
        if stack and get_ident() == self.session.thread:
            for at in stack:
                begun = at.seen if at.given is None else at.given()
                position += pack_level(at.site.number, at.occurrence, begun - 1 if begun else 0)
            if not stack[-1].site.logged:
                self.session.logged()
        self._log(channel, number, self._statement(frame), position, tag, data, time())
        self.records += 1
