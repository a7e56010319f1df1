"""The journal of one process: records appended one write each, so that kill -9 loses none that was logged."""

from __future__ import annotations

import errno
import os
import struct
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Self

from xxhash import xxh3_64_digest

from flor.errors import StoreUnwritable
from flor.model.records import Ended, Inputs, LogRecord, Note, Record
from flor.store import files, forks, locks
from flor.store.codec import LOG, LOG_FRAME, Kind, encode, intern_payload, position_bytes
from flor.store.frames import LIMIT, MARK, Opening, frame_bytes, opening_bytes
from flor.store.inputs import Entry, pack, renumbered

LIVE, SEALED = ".live", ".journal"

_pack, _digest, _write = LOG_FRAME.pack, xxh3_64_digest, os.write
_LOG, _LOG_SIZE = int(Kind.LOG), LOG.size
_RETRIES = 3
_NO_SYNC = {errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP}

OnFailure = Callable[[OSError], None]


class JournalWriter:
    """Appends frames to one file; after the first error of the disk it does nothing, and training goes on.

    There is no lock around an append: a frame is one `write` to an O_APPEND file, which the kernel keeps whole. So
    any thread may log, and so may a signal handler that interrupts another log.
    """

    def __init__(self, fd: int, path: Path, opening: Opening, on_failure: OnFailure | None = None) -> None:
        self.path = path
        self.failed: OSError | None = None
        self.closed = False
        self._fd = fd
        self._salt = opening.salt
        self._on_failure = on_failure
        self._number = count(0).__next__  # of the next frame; a reader sees by it if one is missing
        self._ids: dict[str, int] = {}
        self._next_id = count(0).__next__
        self._interning = threading.RLock()
        self._syncing = threading.RLock()
        self._failing = threading.Lock()  # taken by the first failure, for good
        self.waiting: list[Entry] = []  # readings that are written before the next record
        self._putting = threading.Lock()
        self.readings = 0  # bytes of readings so far
        # The number is given back only when no thread can be on its way to write to it.
        weakref.finalize(self, files.close_quietly, fd).atexit = False
        forks.forsake_in_child(self._forsake)

    @classmethod
    def create(cls, path: Path, on_failure: OnFailure | None = None) -> Self:
        """A new journal at `path`, locked for as long as it is written; FileExistsError if the name is taken."""
        opening = Opening(int.from_bytes(os.urandom(8), "little"), time.time_ns())
        try:
            fd = files.create(path, os.O_APPEND)
        except FileExistsError:
            raise
        except OSError as error:
            raise _unwritable(path, error) from error
        try:
            locks.lock(fd)
            files.write_all(fd, opening_bytes(opening))
            files.sync_folder(path.parent)
        except OSError as error:
            os.close(fd)
            with suppress(OSError):
                path.unlink()
            raise _unwritable(path, error) from error
        return cls(fd, path, opening, on_failure)

    def intern(self, text: str) -> int:
        """The number that stands for a text in this journal, defined there at its first use."""
        known = self._ids.get(text)
        if known is not None:
            return known
        with self._interning:
            number = self._ids.get(text)
            if number is None:
                number = self._next_id()
                self._append(Kind.INTERN, intern_payload(number, text))
                self._ids[text] = number  # only now, so that no thread uses it before its definition is written
            return number

    def log(
        self, channel: int, name_id: int, statement_id: int, position: bytes, tag: int, data: bytes, time: float
    ) -> None:
        """Append one value, in about two microseconds; once this returns, the record survives kill -9."""
        if self.closed:
            return
        try:
            rest = position + data
            size = _LOG_SIZE + len(rest)
            before = self._taken() if self.waiting else b""  # one write for both
            number = self._number()
            body = _pack(MARK, _LOG, size, number, channel, tag, len(position), name_id, statement_id, time) + rest
            frame = before + body + _digest(body, self._salt)
            if size > LIMIT:
                self._drop(f"{size} bytes are too long for a log record", number)
            elif _write(self._fd, frame) != len(frame):
                self._write_again(frame)
        except OSError as error:
            self._fail(error)
        except struct.error as error:
            self._drop(str(error), number)

    def append(self, record: Record) -> None:
        """Append any record; an `Ended` says how much was written before it."""
        if isinstance(record, LogRecord):
            self._append_log(record)
        elif isinstance(record, Inputs):
            self._append(Kind.INPUTS, renumbered(record, self.intern))
        elif isinstance(record, Ended):
            if self.waiting:
                self.put_down()
            number = self._number()
            self._append(*encode(record, frames=number, offset=self.size()), number=number)
        else:
            self._append(*encode(record))

    def put_down(self) -> None:
        """Write the readings that wait, as one frame."""
        frame = self._taken()
        if not frame or self.closed:
            return
        try:
            if _write(self._fd, frame) != len(frame):
                self._write_again(frame)
        except OSError as error:
            self._fail(error)

    def _taken(self) -> bytes:
        """The frame of the readings that wait; none if another thread, or a call that was interrupted, takes them."""
        if not self.waiting or not self._putting.acquire(blocking=False):
            return b""
        try:
            entries = self.waiting[:]
            del self.waiting[: len(entries)]  # what another thread adds meanwhile stays
            payload = pack(entries)
            self.readings += len(payload)
            return frame_bytes(Kind.INPUTS, payload, self._salt, self._number())
        except (struct.error, OverflowError, ValueError):
            self._write_frame(*encode(Note("dropped", {"reason": "readings that can't be packed"})))
            return b""
        finally:
            self._putting.release()

    def size(self) -> int:
        """How many bytes the journal has."""
        try:
            return 0 if self.closed else os.fstat(self._fd).st_size
        except OSError:
            return 0

    def sync(self) -> None:
        """Make what was written survive a power loss too."""
        with self._syncing:
            if self.closed:
                return
            try:
                os.fdatasync(self._fd)
            except OSError as error:
                if error.errno not in _NO_SYNC:
                    self._fail(error)

    def seal(self, ended: Ended) -> bool:
        """End the journal: last frame, synced, renamed; False if that failed, and the journal stays as if killed."""
        try:
            self.append(ended)
            if self.closed:
                return False
            os.fsync(self._fd)
            sealed = self.path.with_suffix(SEALED)
            self.path.rename(sealed)  # the guarantee: a sealed name is given only to synced bytes
            self.path = sealed
            files.sync_folder(sealed.parent)
        except OSError as error:
            self._fail(error)
            return False
        finally:
            self.close()
        return True

    def close(self) -> None:
        """Stop writing and let go of the lock; without a seal, the journal reads as that of a killed process."""
        with self._syncing:
            self.closed = True
            self._let_go()

    def begin_anew(self, path: Path) -> None:
        """Go on in a file of one's own, in a forked child; what was interned before the fork is defined there too."""
        self._interning, self._syncing = threading.RLock(), threading.RLock()  # another thread may have had them
        self._putting = threading.Lock()
        self.waiting.clear()  # the parent's
        opening = Opening(int.from_bytes(os.urandom(8), "little"), time.time_ns())
        fd = files.create(path, os.O_APPEND)
        locks.lock(fd)
        files.write_all(fd, opening_bytes(opening))
        self._fd, self._salt, self.path, self.closed = fd, opening.salt, path, False
        for text, number in list(self._ids.items()):
            self._append(Kind.INTERN, intern_payload(number, text))

    def _append_log(self, record: LogRecord) -> None:
        name, statement = self.intern(record.name), self.intern(str(record.statement))
        try:
            position = position_bytes(record.position, self.intern)
        except struct.error as error:
            self._drop(str(error), self._number())
            return
        self.log(record.channel, name, statement, position, record.tag, record.data, record.time)

    def _append(self, kind: Kind, payload: bytes, number: int | None = None) -> None:
        if self.waiting and kind is not Kind.INTERN:
            self.put_down()
        self._write_frame(kind, payload, number)

    def _write_frame(self, kind: Kind, payload: bytes, number: int | None = None) -> None:
        if self.closed:
            return
        number = self._number() if number is None else number
        if len(payload) > LIMIT:
            self._drop(f"{len(payload)} bytes are too long for a {kind.name.lower()} record", number)
            return
        try:
            frame = frame_bytes(kind, payload, self._salt, number)
            if _write(self._fd, frame) != len(frame):
                self._write_again(frame)
        except OSError as error:
            self._fail(error)

    def _write_again(self, frame: bytes) -> None:
        """Write the whole frame anew after a short write: the half is skipped by readers, other threads' frames not."""
        for _ in range(_RETRIES):
            if _write(self._fd, frame) == len(frame):
                return
        raise OSError(errno.EIO, "the disk takes only parts of a write", str(self.path))

    def _drop(self, reason: str, number: int) -> None:
        """Note in the place of a frame that it can't be written."""
        self._append(*encode(Note("dropped", {"reason": reason})), number=number)

    def _fail(self, error: OSError) -> None:
        """Say so once and go quiet; the lock stays until `close`, because the process is still alive."""
        self.closed = True
        if not self._failing.acquire(blocking=False):
            return
        self.failed = error
        if self._on_failure is not None:
            with suppress(Exception):
                self._on_failure(error)

    def _let_go(self) -> None:
        with suppress(OSError):
            forks.divert(self._fd)

    def _forsake(self) -> None:
        self.closed = True
        self.waiting.clear()
        self._let_go()


def _unwritable(path: Path, error: OSError) -> StoreUnwritable:
    return StoreUnwritable(
        f"The journal can't be created: {error.strerror}.",
        where=str(path),
        todo="Free some space, or choose another folder with --store.",
    )
