"""What the world told a program, packed: groups of readings that were made in the same loop."""

from __future__ import annotations

import struct
import zlib
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, islice
from operator import itemgetter, sub

from flor.model.positions import Level, Position
from flor.model.records import Atom, Inputs

Entry = tuple[bytes, int, int, Atom]
"""The packed levels up to the last one's iteration; that iteration; the interned site; the value."""

GROUP = struct.Struct("<HBIIII")
"""Bytes of the head, form, readings, first iteration, last iteration, bytes of the body; then body, then head."""
ROW = struct.Struct("<IIB")
"""Iteration, site, kind of value; then the value."""
LEVEL = struct.Struct("<III")
_ONE = struct.Struct(GROUP.format + ROW.format.lstrip("<") + "d")
_SIZE = struct.Struct("<I")
_FLOAT = struct.Struct("<d")
ROWS, DOUBLES, INTEGERS = 0, 1, 2
FLOAT, INT, STR, BYTES, END = 0, 1, 2, 3, 4
FEW = 32  # readings: fewer are not worth a compression
_ONE_BODY = ROW.size + _FLOAT.size


def pack(entries: Sequence[Entry]) -> bytes:
    """The payload of a frame; a few readings take about half a microsecond each."""
    if len(entries) == 1 and type(entries[0][3]) is float:
        head, at, site, value = entries[0]
        return _ONE.pack(len(head), ROWS, 1, at, at, _ONE_BODY, at, site, FLOAT, value) + head
    return b"".join(_group(head, list(group)) for head, group in groupby(entries, itemgetter(0)))


def _group(head: bytes, entries: list[Entry]) -> bytes:
    form, body = ROWS, b""
    if len(entries) >= FEW:
        kinds = set(map(type, map(itemgetter(3), entries)))
        form = DOUBLES if kinds == {float} else INTEGERS if kinds == {int} else ROWS
        body = _columns(entries, form) if form else b""
    if not body:
        form, body = ROWS, b"".join(map(_row, entries))
    return GROUP.pack(len(head), form, len(entries), entries[0][1], entries[-1][1], len(body)) + body + head


def _columns(entries: list[Entry], form: int) -> bytes:
    """Differences of neighbours, compressed; empty if the numbers are too large for that."""
    try:
        _, iterations, sites, values = zip(*entries, strict=True)
        numbers = array("q", array("d", values).tobytes() if form == DOUBLES else values)
        steps = array("q", [numbers[0], *map(sub, numbers[1:], numbers)])
        turns = array("q", [iterations[0], *map(sub, iterations[1:], iterations)])
        return zlib.compress(turns.tobytes() + array("I", sites).tobytes() + steps.tobytes(), 1)
    except OverflowError:
        return b""


def _row(entry: Entry) -> bytes:
    _, at, site, value = entry
    if type(value) is float:
        return ROW.pack(at, site, FLOAT) + _FLOAT.pack(value)
    if value is None:
        return ROW.pack(at, site, END) + _SIZE.pack(0)
    if type(value) is bytes:
        kind, data = BYTES, value
    elif type(value) is str:
        kind, data = STR, value.encode("utf-8", "surrogatepass")
    else:
        kind, data = INT, str(value).encode()
    return ROW.pack(at, site, kind) + _SIZE.pack(len(data)) + data


@dataclass(frozen=True, slots=True)
class Group:
    """Readings of one loop execution, still packed."""

    head: bytes
    form: int
    count: int
    first: int
    last: int
    body: memoryview

    def readings(self) -> Iterator[tuple[int, int, Atom]]:
        """Iteration, site and value of each, in the order of the run."""
        return self._rows() if self.form == ROWS else self._unpacked()

    def _unpacked(self) -> Iterator[tuple[int, int, Atom]]:
        data, n = zlib.decompress(self.body), self.count
        turns, sites = array("q", data[: 8 * n]), array("I", data[8 * n : 12 * n])
        numbers = array("q", accumulate(array("q", data[12 * n :])))
        values: array[float] | array[int] = array("d", numbers.tobytes()) if self.form == DOUBLES else numbers
        return zip(accumulate(turns), sites, values, strict=True)

    def _rows(self) -> Iterator[tuple[int, int, Atom]]:
        offset = 0
        for _ in range(self.count):
            at, site, kind = ROW.unpack_from(self.body, offset)
            offset += ROW.size
            if kind == FLOAT:
                yield at, site, _FLOAT.unpack_from(self.body, offset)[0]
                offset += _FLOAT.size
                continue
            begin = offset + _SIZE.size
            offset = begin + _SIZE.unpack_from(self.body, offset)[0]
            yield at, site, _value(kind, bytes(self.body[begin:offset]))


def _value(kind: int, data: bytes) -> Atom:
    match kind:
        case 1:
            return int(data)
        case 2:
            return data.decode("utf-8", "surrogatepass")
        case 3:
            return data
        case 4:
            return None
    raise ValueError(f"a reading of unknown kind {kind}")


def groups(payload: bytes) -> Iterator[Group]:
    """The groups of a payload; ValueError or struct.error if it makes no sense."""
    view, offset = memoryview(payload), 0
    while offset < len(view):
        size, form, count, first, last, length = GROUP.unpack_from(view, offset)
        begin = offset + GROUP.size
        offset = begin + length + size
        if offset > len(view) or form > INTEGERS:
            raise ValueError("a group of readings that is cut off")
        yield Group(bytes(view[begin + length : offset]), form, count, first, last, view[begin : begin + length])


def position_of(head: bytes, at: int, texts: Mapping[int, str]) -> Position:
    """The position that a head and an iteration stand for."""
    if not head:
        return ()
    levels = LEVEL.iter_unpack(head + struct.pack("<I", at))
    return tuple(Level(texts[loop], nth, iteration) for loop, nth, iteration in levels)


def truncated(record: Inputs, stop: int) -> Inputs:
    """The first `stop` readings of a record."""
    entries: list[Entry] = []
    for group in groups(record.data):
        entries += [(group.head, at, site, value) for at, site, value in islice(group.readings(), stop - len(entries))]
    return Inputs(pack(entries), record.texts)


def count(record: Inputs) -> int:
    """How many readings a record has."""
    return sum(group.count for group in groups(record.data))


def renumbered(record: Inputs, intern: Callable[[str], int]) -> bytes:
    """The payload with the numbers that another journal gives to the same texts."""

    def number(old: int) -> int:
        return intern(record.texts[old])

    entries = [
        (_head(group.head, number), at, number(site), value)
        for group in groups(record.data)
        for at, site, value in group.readings()
    ]
    return pack(entries)


def _head(head: bytes, number: Callable[[int], int]) -> bytes:
    levels = LEVEL.iter_unpack(head + b"\0\0\0\0" if head else b"")
    return b"".join(LEVEL.pack(number(loop), nth, at) for loop, nth, at in levels)[:-4]
