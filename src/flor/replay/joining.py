"""What a probe writes to a stream piece by piece becomes one record a line.

`print(a, b)` writes four pieces. A record keeps each, so that kill -9 loses none and a replay can compare them. Those
of a probe are compared with nothing, a worker that is killed is sent again, and a probe prints in every step.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from flor.model.records import Channel, Record
from flor.replay.children import journal_of_child
from flor.runtime.logbook import Logbook
from flor.runtime.sites import LoopFrame
from flor.store.frames import Opening
from flor.store.journal import JournalWriter, OnFailure

STREAMS = (int(Channel.STDOUT), int(Channel.STDERR))
WHOLE = 1 << 16  # bytes, and pieces: more than this is not held back

Place = tuple[int, int, int, bytes, int]  # channel, name, statement, position, tag


@dataclass(slots=True)
class Line:
    """A line that is not whole yet."""

    place: Place
    time: float
    thread: int = field(default_factory=threading.get_ident)
    pieces: list[bytes] = field(default_factory=list)
    frame: FrameType | None = None  # who writes it, at which instruction, in which iteration of which loop
    instruction: int = 0
    loop: LoopFrame | None = None
    iteration: int = 0


class JoiningJournal(JournalWriter):
    """Holds back a probe's line until it is whole, or something else is written."""

    def __init__(self, fd: int, path: Path, opening: Opening, on_failure: OnFailure | None = None) -> None:
        super().__init__(fd, path, opening, on_failure)
        self.probes: set[int] = set()  # the numbers of statements that are probes
        self.line: Line | None = None
        self._joining = threading.RLock()
        self.forked: float | None = None  # when, in a child that has not logged yet
        self._parents = path  # journal
        self._busy = False  # so that a signal handler which logs knows that it finds us in the middle of a call

    def log(
        self, channel: int, name_id: int, statement_id: int, position: bytes, tag: int, data: bytes, at: float
    ) -> None:
        """Take one record; a probe's unfinished line waits for its rest."""
        place = (channel, name_id, statement_id, position, tag)
        if self.forked is not None:
            self._begin_in_child(self.forked)
        with self._joining:
            if self._busy:
                super().log(*place, data, at)
                return
            self._busy = True
            try:
                if self.line is not None and self.line.place != place:
                    self._put_down()
                if statement_id in self.probes and channel in STREAMS:
                    self.line = self.line or Line(place, at)
                    self._add(data)
                else:
                    super().log(*place, data, at)
            finally:
                self._busy = False

    def continues(self, line: Line, data: bytes) -> bool:
        """Add to a line; False if it was put down in the meantime."""
        with self._joining:
            if self._busy or self.line is not line:
                return False
            self._busy = True
            try:
                self._add(data)
            finally:
                self._busy = False
            return True

    def append(self, record: Record) -> None:
        """Append any record, behind what was logged before it."""
        with self._joining:
            if not self._busy:
                self._put_down()
            super().append(record)

    def _forsake(self) -> None:
        """In a forked child: another thread may have had the lock, and will never give it back here."""
        self._joining, self._busy, self.line = threading.RLock(), False, None
        super()._forsake()
        self.forked = time.time()

    def _begin_in_child(self, forked: float) -> None:
        """A child logs into a journal of its own; it has none as long as it logs nothing."""
        self.forked = None
        with suppress(OSError):
            self.begin_anew(journal_of_child(self._parents, os.getpid(), forked))

    def finish_line(self) -> None:
        """Write a line that is not whole."""
        with self._joining:
            if not self._busy:
                self._put_down()

    def _add(self, data: bytes) -> None:
        assert self.line is not None
        self.line.pieces.append(data)
        if data.endswith(b"\n") or len(data) > WHOLE or len(self.line.pieces) > WHOLE:
            self._put_down()

    def _put_down(self) -> None:
        line, self.line = self.line, None
        if line is not None:
            super().log(*line.place, b"".join(line.pieces), line.time)


class LineLogbook(Logbook):
    """Looks for who writes only once a line: what the same call writes next, in the same iteration, goes with it."""

    sink: JoiningJournal

    def text(self, channel: Channel, text: str, frame: FrameType) -> None:
        """A piece that was written to a stream."""
        loop = self._stack[-1] if self._stack else None
        line = self.sink.line
        if (
            line is not None
            and line.frame is frame
            and line.instruction == frame.f_lasti
            and line.place[0] == channel
            and line.loop is loop
            and (loop is None or line.iteration == loop.begun_iterations)
            and self.sink.continues(line, text.encode("utf-8", "surrogateescape"))
        ):
            self.records += 1
            return
        super().text(channel, text, frame)
        line = self.sink.line
        if line is not None and line.thread == threading.get_ident():
            line.frame, line.instruction, line.loop = frame, frame.f_lasti, loop
            line.iteration = loop.begun_iterations if loop is not None else 0
