"""Bytes and frames: a checksummed file header, then frames, each found again after damage before it."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from xxhash import xxh3_64, xxh3_64_digest

VERSION = 2
MAGIC = b"FLORJRNL"
MARK = b"\xffFL\xf9"  # 0xff is in no UTF-8 text, so that text is never searched in vain
HEAD = struct.Struct("<4sBIQ")
"""marker, kind, length of the payload, and the frame's number in its journal."""
FIRST_HEAD = struct.Struct("<4sBI")
"""The same in journals of version 1, whose frames have no numbers."""
CHECK_SIZE = 8
LIMIT = 1 << 30
"""The longest payload; a longer length is damage."""
CHUNK = 1 << 18

_OPENING = struct.Struct("<8sHHIQQ")
_COPY_SIZE = _OPENING.size + CHECK_SIZE
OPENING_SIZE = 2 * _COPY_SIZE

ReadAt = Callable[[int, int], bytes]
"""offset, size -> at most that many bytes of the file."""


@dataclass(frozen=True, slots=True)
class Opening:
    """The header of a journal; `salt` seeds every checksum, so that no other file's frame is ever valid in this one."""

    salt: int
    created: int
    version: int = VERSION
    whole: bool = True


class Frame(NamedTuple):
    """One valid frame, where it begins and ends, and its number; -1 if the journal is of version 1."""

    kind: int
    payload: bytes
    offset: int
    end: int
    number: int = -1


class Gap(NamedTuple):
    """Bytes that are no valid frame; `torn` if they look like an append that was interrupted at the end of the file."""

    offset: int
    length: int
    reason: str
    torn: bool


_unpack, _frame = HEAD.unpack_from, Frame._make


@dataclass(frozen=True, slots=True)
class _Flaw:
    reason: str
    cut: bool = False


def opening_bytes(opening: Opening) -> bytes:
    """The file header: two equal checksummed copies, because without the salt nothing can be verified."""
    copy = _OPENING.pack(MAGIC, opening.version, 0, 0, opening.salt, opening.created)
    return 2 * (copy + xxh3_64_digest(copy))


def parse_opening(data: bytes) -> Opening | None:
    """The header from either copy; None if both are damaged or missing."""
    copies = [_parse_copy(data[:_COPY_SIZE]), _parse_copy(data[_COPY_SIZE:OPENING_SIZE])]
    found = copies[0] or copies[1]
    if found is None or all(copies):
        return found
    return Opening(found.salt, found.created, found.version, whole=False)


def _parse_copy(data: bytes) -> Opening | None:
    body, check = data[: _OPENING.size], data[_OPENING.size :]
    if len(data) != _COPY_SIZE or xxh3_64_digest(body) != check or not body.startswith(MAGIC):
        return None
    _, version, _, _, salt, created = _OPENING.unpack(body)
    return Opening(salt, created, version)


def frame_bytes(kind: int, payload: bytes, salt: int, number: int = 0) -> bytes:
    """One frame: marker, kind, length, number, payload, and the checksum over all of these."""
    body = HEAD.pack(MARK, kind, len(payload), number) + payload
    return body + xxh3_64_digest(body, salt)


def scan(
    read_at: ReadAt, end: int, salt: int, start: int = OPENING_SIZE, version: int = VERSION
) -> Iterator[Frame | Gap]:
    """Every valid frame in order, and a gap for whatever lies between; memory is bounded by one frame."""
    window = _Window(read_at, end, HEAD if version > 1 else FIRST_HEAD)
    offset = start
    while offset < end:
        for frame in _frames_in(window.stretch(offset), offset, salt) if version > 1 else ():
            yield frame
            offset = frame.end
        if offset >= end:
            return
        found = _frame_at(window, offset, salt)
        if isinstance(found, Frame):
            yield found
            offset = found.end
        else:
            resumed = _resync(window, offset + 1, salt)
            yield _gap(window, offset, resumed, found)
            offset = resumed


class _Window:
    """A file read in chunks, as far as it reached when the scan began."""

    def __init__(self, read_at: ReadAt, end: int, head: struct.Struct) -> None:
        self.end = end
        self.head = head
        self._read_at = read_at
        self._start = 0
        self._data = b""

    def take(self, offset: int, size: int) -> bytes:
        """The bytes there; fewer at the end of the file."""
        size = min(size, self.end - offset)
        low = offset - self._start
        if low < 0 or low + size > len(self._data):
            self._start, low = offset, 0
            self._data = self._read_at(offset, min(max(size, CHUNK), self.end - offset))
        return self._data[low : low + size]

    def stretch(self, offset: int) -> bytes:
        """As many bytes from there on as are at hand, enough to hold a marker except at the end of the file."""
        self.take(offset, len(MARK))
        return self._data[offset - self._start :]


def _frames_in(data: bytes, start: int, salt: int) -> Iterator[Frame]:
    """The valid frames at the beginning of these bytes, quickly; whatever is odd is left to `_frame_at`."""
    low, size = 0, len(data)
    while low + HEAD.size <= size:
        mark, kind, length, number = _unpack(data, low)
        stop = low + HEAD.size + length
        if mark != MARK or stop + CHECK_SIZE > size:
            return
        if xxh3_64_digest(data[low:stop], salt) != data[stop : stop + CHECK_SIZE]:
            return
        yield _frame((kind, data[low + HEAD.size : stop], start + low, start + stop + CHECK_SIZE, number))
        low = stop + CHECK_SIZE


def _frame_at(window: _Window, offset: int, salt: int) -> Frame | _Flaw:
    width = window.head.size
    head = window.take(offset, width)
    if len(head) < width:
        return _Flaw("half a frame", cut=head[:4] == MARK[: len(head)])
    mark, kind, length, *numbers = window.head.unpack(head)
    if mark != MARK or length > LIMIT:
        return _Flaw("no frame begins here")
    size = width + length + CHECK_SIZE
    if offset + size > window.end:
        return _Flaw("half a frame", cut=True)
    if size > CHUNK and not _long_frame_is_valid(window, offset, size, salt):
        return _Flaw("the checksum does not fit")
    data = window.take(offset, size)
    if xxh3_64_digest(data[:-CHECK_SIZE], salt) != data[-CHECK_SIZE:]:
        return _Flaw("the checksum does not fit")
    return Frame(kind, data[width:-CHECK_SIZE], offset, offset + size, *numbers)


def _long_frame_is_valid(window: _Window, offset: int, size: int, salt: int) -> bool:
    """Hash piece by piece first: a damaged length must not make a reader allocate what it claims."""
    digest = xxh3_64(seed=salt)
    stop = offset + size - CHECK_SIZE
    for at in range(offset, stop, CHUNK):
        digest.update(window.take(at, min(CHUNK, stop - at)))
    return digest.digest() == window.take(stop, CHECK_SIZE)


def _resync(window: _Window, offset: int, salt: int) -> int:
    """Where the next valid frame begins; the end of the file if there is none."""
    while (offset := _next_mark(window, offset)) < window.end:
        if isinstance(_frame_at(window, offset, salt), Frame):
            return offset
        offset += 1
    return window.end


def _next_mark(window: _Window, offset: int) -> int:
    while offset + len(MARK) <= window.end:
        piece = window.stretch(offset)
        found = piece.find(MARK)
        if found >= 0:
            return offset + found
        if len(piece) < len(MARK):  # the file became shorter while it was read
            break
        offset += len(piece) - len(MARK) + 1
    return window.end


def _gap(window: _Window, offset: int, resumed: int, flaw: _Flaw) -> Gap:
    at_end = resumed == window.end
    torn = at_end and (flaw.cut or _is_zero(window, offset))
    return Gap(offset, resumed - offset, flaw.reason, torn)


def _is_zero(window: _Window, offset: int) -> bool:
    """True if only zeros follow: what a power loss leaves where the size was recorded and the bytes were not."""
    return not any(window.take(at, CHUNK).strip(b"\0") for at in range(offset, window.end, CHUNK))
