"""Notes what the world tells the project's code, while it is recorded."""

from __future__ import annotations

import struct
from collections.abc import Callable
from threading import get_ident
from types import CodeType, FrameType
from typing import Any

from flor.model.positions import MODULE
from flor.model.records import Note
from flor.runtime.readings import Given, Options, Reading
from flor.runtime.session import Session
from flor.runtime.sites import LoopFrame
from flor.store.codec import LEVEL
from flor.store.journal import JournalWriter

MANY = 1000  # readings that wait for the next record, at the most
BOUND = 64 << 20  # bytes of readings that a run keeps
LAST = struct.calcsize("<I")
FOREIGN = -1
ATOMS = frozenset({float, int, str, bytes, type(None)})


def site_name(reading: Reading, file: str, code: CodeType) -> str:
    """Where a reading is made: function of the world, file and function of the project."""
    function = code.co_qualname.replace(".<locals>", "") if code.co_name != MODULE else MODULE
    return f"{reading.title} {file}::{function}"


class Noting:
    """Appends each reading to those that the journal writes before its next record."""

    def __init__(self, journal: JournalWriter, session: Session, name_of: Callable[[str], str | None]) -> None:
        self.journal = journal
        self.session = session
        self.name_of = name_of
        self.count = 0
        self.full = False
        self._stack = session.stack
        self._waiting = journal.waiting
        self._codes: list[CodeType] = []  # held, so that their identities stay theirs

    def read(self, reading: Reading, args: Given, options: Options, frame: FrameType) -> Any:
        """Ask the world and note what it says; this is the hot path of every clock in a training loop."""
        if self.full or get_ident() != self.session.thread:
            return reading.call(*args, **options)
        if reading.plain and not args:
            value = kept = reading.call(**options)
        elif not reading.asks(args, options):
            return reading.call(*args, **options)
        else:
            value, kept = reading.ask(args, options)
        if type(kept) not in ATOMS:
            return value
        site = reading.sites.get(id(frame.f_code), FOREIGN)
        if site == FOREIGN:
            site = self._site(reading, frame)
        stack = self._stack
        if stack:
            at = stack[-1]
            begun = at.seen if at.given is None else at.given()
            self._waiting.append((at.head or self._head(at), begun - 1 if begun else 0, site, kept))
        else:
            self._waiting.append((b"", 0, site, kept))
        self.count += 1
        if len(self._waiting) >= MANY:
            self._put_down()
        return value

    def owns(self, frame: FrameType) -> bool:
        """True for a frame of the project."""
        return self.name_of(frame.f_code.co_filename) is not None

    def _site(self, reading: Reading, frame: FrameType | None) -> int:
        """The site of the nearest frame of the project."""
        while frame is not None:
            code = frame.f_code
            found = reading.sites.get(id(code))
            site = self._new_site(reading, code) if found is None else found
            if site != FOREIGN:
                return site
            frame = frame.f_back
        return self.journal.intern("")

    def _new_site(self, reading: Reading, code: CodeType) -> int:
        file = self.name_of(code.co_filename)
        number = FOREIGN if file is None else self.journal.intern(site_name(reading, file, code))
        reading.sites[id(code)] = number
        self._codes.append(code)
        return number

    def _head(self, at: LoopFrame) -> bytes:
        """The packed position up to the iteration, which stays if the loops around can't go on before this one ends."""
        around = [LEVEL.pack(loop.site.number, loop.occurrence, loop.iteration) for loop in self._stack]
        head = b"".join(around)[:-LAST]
        if at.steady:
            at.head = head
        self.session.logged()
        return head

    def _put_down(self) -> None:
        self.journal.put_down()
        if self.journal.readings > BOUND or self.journal.closed:
            self.full = True
            self._waiting.clear()
            self.journal.append(Note("inputs end", {"readings": self.count}))
