"""A journal read back: its records one by one, and what of it is damaged."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from flor.errors import NewerFormat, StoreError
from flor.model.records import Ended, Record
from flor.store import files, locks
from flor.store.codec import Decoder, Kind, UndecodableError, counts
from flor.store.frames import OPENING_SIZE, VERSION, Frame, Gap, Opening, parse_opening, scan
from flor.store.journal import LIVE, SEALED

Status = Literal["sealed", "recording", "killed"]
WINDOW = 1 << 16
"""So many frames may come before one that was begun earlier, by another thread."""


@dataclass(frozen=True, slots=True)
class Damage:
    """Bytes of a journal that are not what was written, or that make no record."""

    offset: int
    length: int
    reason: str


class JournalReader:
    """The records of a journal, lazily; each iteration begins anew and sees the file as long as it then is.

    `status` is as of the opening. `damage`, `torn`, `ended` and `frames` are filled by iterating.
    """

    def __init__(self, path: Path, status: Status) -> None:
        self.path = path
        self.status = status
        self._with_logs = True
        self._begin()

    def _begin(self) -> None:
        self.damage: list[Damage] = []
        self.torn = False
        self.ended: Ended | None = None
        self.frames = 0
        self._explained = False

    def __iter__(self) -> Iterator[Record]:
        self._begin()
        with _Opened(self.path) as file:
            opening = self._opening(file)
            if opening is not None:
                yield from self._records(file, opening)
        if self.status == "sealed" and self.ended is None:
            self._blame(file.end, 0, "the journal was sealed, and its end is missing")

    def without_logs(self) -> Iterator[Record]:
        """All records but logs and readings, whose bytes are checked and not read."""
        self._with_logs = False
        try:
            yield from self
        finally:
            self._with_logs = True

    def _opening(self, file: _Opened) -> Opening | None:
        opening = parse_opening(file.read_at(0, OPENING_SIZE))
        if file.end < OPENING_SIZE and self.status != "sealed":
            self.torn = self.status == "killed"
            return None
        if opening is None:
            self._blame(0, file.end, "the file does not begin as a journal does")
        elif opening.version > VERSION:
            raise NewerFormat(
                f"The journal has format {opening.version}, this flor reads up to {VERSION}.",
                where=str(self.path),
                todo="Upgrade flor.",
            )
        elif not opening.whole:
            self._blame(0, OPENING_SIZE, "one of the two copies of the file header; the other one is good")
        return opening

    def _records(self, file: _Opened, opening: Opening) -> Iterator[Record]:
        decoder, log, inputs = Decoder(), int(Kind.LOG), int(Kind.INPUTS)
        for found in self._in_order(scan(file.read_at, file.end, opening.salt, version=opening.version)):
            self.frames += 1
            if not self._with_logs and found.kind in (log, inputs):
                continue
            try:
                record = decoder.decode(found)
                if found.kind != log:
                    self._look_at_end(found, record)
            except UndecodableError as error:
                self._blame(found.offset, found.end - found.offset, str(error))
                continue
            if record is not None:
                yield record

    def _in_order(self, found: Iterator[Frame | Gap]) -> Iterator[Frame]:
        """Frames by their numbers. Threads may write them slightly out of order; what never comes is missing."""
        due, early = 0, dict[int, Frame]()
        for each in found:
            if isinstance(each, Gap):
                self._gap(each)
                self._explained = True  # what is missing next was there
                continue
            number = each.number
            if number == due:
                due += 1
                yield each
            elif number < 0:
                yield each
                continue
            elif number < due or number in early:
                self._blame(each.offset, each.end - each.offset, "a frame that was there before")
            else:
                early[number] = each
                if len(early) > WINDOW:
                    due = self._pass_over(due, early)
            while early and due in early:
                yield early.pop(due)
                due += 1
        while early:
            due = self._pass_over(due, early)
            while due in early:
                yield early.pop(due)
                due += 1

    def _pass_over(self, due: int, early: dict[int, Frame]) -> int:
        """Give up waiting for frames; which comes next."""
        number = min(early)
        if not self._explained:
            self._blame(early[number].offset, 0, f"{number - due:,} of the records before this are missing")
        self._explained = False
        return number

    def _look_at_end(self, frame: Frame, record: Record | None) -> None:
        if isinstance(record, Ended):
            self._check_end(frame)
            self.ended = record

    def _check_end(self, frame: Frame) -> None:
        """Bytes may be more than the end says, from a thread that logged meanwhile; fewer means that some are gone."""
        frames, offset = counts(frame)
        if offset > frame.offset:
            had = f"{frames} frames were written, {self.frames - 1} are here"
            self._blame(frame.offset, 0, f"{offset - frame.offset} bytes before this are missing: {had}")

    def _gap(self, gap: Gap) -> None:
        if gap.torn and self.status != "sealed":
            self.torn = self.status == "killed"
        else:
            self._blame(gap.offset, gap.length, gap.reason)

    def _blame(self, offset: int, length: int, reason: str) -> None:
        self.damage.append(Damage(offset, length, reason))


class _Opened:
    """An open journal and how long it was when it was opened."""

    def __init__(self, path: Path) -> None:
        self._fd = _open(path)
        self.end = os.fstat(self._fd).st_size

    def read_at(self, offset: int, size: int) -> bytes:
        return os.pread(self._fd, min(size, max(0, self.end - offset)), offset)

    def __enter__(self) -> _Opened:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)


def read_journal(path: Path) -> JournalReader:
    """The journal at that path, or the one it became when it was sealed."""
    if path.suffix == LIVE and not path.exists() and path.with_suffix(SEALED).exists():
        path = path.with_suffix(SEALED)
    return JournalReader(path, status_of(path))


def status_of(path: Path) -> Status:
    """Sealed by name; otherwise recording if a process holds the file, killed if none does."""
    if path.suffix == SEALED:
        return "sealed"
    try:
        return "recording" if locks.is_held(path) else "killed"
    except FileNotFoundError:
        if path.with_suffix(SEALED).exists():  # renamed since it was looked for
            return "sealed"
        raise StoreError("The journal is not there.", where=str(path)) from None
    except OSError as error:
        raise StoreError(f"The journal can't be read: {error.strerror}.", where=str(path)) from error


def _open(path: Path) -> int:
    try:
        return files.open_regular(path)
    except FileNotFoundError:
        if path.suffix == LIVE and path.with_suffix(SEALED).exists():
            return _open(path.with_suffix(SEALED))
        raise StoreError("The journal is not there.", where=str(path)) from None
    except OSError as error:
        raise StoreError(f"The journal can't be read: {error.strerror}.", where=str(path)) from error
