"""Where log records go on their way to the journal: position, statement and value in one frame."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, Protocol

from flor.model.records import Channel, Tag
from flor.runtime.session import Session
from flor.runtime.statements import Statements
from flor.store.codec import LEVEL


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
        self.pid = os.getpid()
        self.names: dict[str, int] = {}
        self.records = 0
        self.here = threading.local()
        self.watchers: list[Callable[[Channel, str, Tag, bytes, FrameType], None]] = []

    def text(self, channel: Channel, text: str, frame: FrameType) -> None:
        """A piece that was written to a stream."""
        self.add(channel, "", Tag.STR, text.encode("utf-8", "surrogateescape"), frame)

    def value(self, channel: Channel, name: str, value: Any, frame: FrameType) -> None:
        """A named value."""
        tag, data = self.encode(value)
        self.add(channel, name, tag, data, frame)

    def add(self, channel: Channel, name: str, tag: Tag, data: bytes, frame: FrameType) -> None:
        """Write one record; a record that is caused by writing another one is left out."""
        if getattr(self.here, "busy", False) or self.pid != os.getpid():
            return
        self.here.busy = True
        try:
            number = self.names.get(name)
            if number is None:
                number = self.names[name] = self.sink.intern(name)
            session = self.session
            if session.stack and threading.get_ident() == session.thread:
                position = b"".join([LEVEL.pack(f.site.number, f.occurrence, f.iteration) for f in session.stack])
                if not session.stack[-1].site.logged:
                    session.logged()
            else:
                position = b""
            self.sink.log(channel, number, self.statements.of(frame), position, tag, data, time.time())
            self.records += 1
            for watcher in self.watchers:
                watcher(channel, name, tag, data, frame)
        finally:
            self.here.busy = False
