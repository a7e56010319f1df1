"""Log records as rows: plain values, loop iterations as columns, text joined to lines."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, NamedTuple

from flor.model.explicit import given_name, is_block
from flor.model.positions import LoopId, Position, readable
from flor.model.records import Channel, LogRecord, Tag
from flor.model.values import TensorValue, as_text, decode_value

Loops = tuple[tuple[str, int], ...]
Place = tuple[str, Loops]
quoted = json.encoder.encode_basestring_ascii
LABELS = ("", *(channel.label for channel in Channel))  # by number: an enum's own hash is slow
STREAMS = (Channel.STDOUT, Channel.STDERR)


class Row(NamedTuple):
    """One logged value, or one line of a stream; a tuple, because a run may have millions."""

    name: str
    value: Any
    channel: str
    position: str
    loops: Loops
    statement: str
    time: float
    rank: int = 0
    origin: str = "recorded"
    replay: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Plain JSON; loop iterations are an object of their own."""
        value = self.value.tolist() if isinstance(self.value, TensorValue) else self.value
        return {
            "name": self.name,
            "value": value,
            "channel": self.channel,
            "position": self.position,
            "loops": dict(self.loops),
            "statement": self.statement,
            "time": self.time,
            "rank": self.rank,
            "origin": self.origin,
            **({"replay": self.replay} if self.replay else {}),
        }

    def json_line(self) -> str:
        """The same as a line of JSON, quickly."""
        value = self.value
        if type(value) is not float or not isfinite(value):
            value = value.tolist() if isinstance(value, TensorValue) else value
            said = json.dumps(value, default=as_text)
        else:
            said = repr(value)
        loops = ", ".join([f"{quoted(name)}: {iteration}" for name, iteration in self.loops])
        replay = f', "replay": {quoted(self.replay)}' if self.replay else ""
        return (
            f'{{"name": {quoted(self.name)}, "value": {said}, "channel": {quoted(self.channel)}, '
            f'"position": {quoted(self.position)}, "loops": {{{loops}}}, "statement": {quoted(self.statement)}, '
            f'"time": {self.time!r}, "rank": {self.rank}, "origin": {quoted(self.origin)}{replay}}}'
        )


@dataclass
class Reading:
    """How records of one fragment are turned into rows."""

    names: dict[str, str] = field(default_factory=dict)
    rank: int = 0
    origin: str = "recorded"
    replay: str | None = None
    _around: tuple[Position, str, int] | None = None
    _text: str = ""
    _outer: Loops = ()
    _name: str = ""
    senseless: int = 0  # values whose bytes are no value
    torn: int = 0  # lines of which a part is missing, and which are left out

    def rows(self, records: Iterable[LogRecord], gaps: Callable[[], int] = lambda: 0) -> Iterator[Row]:
        """Rows in order; pieces of a stream are joined until their line ends, and never across a gap.

        `gaps` says how many have been met so far. A line that a gap may have cut is left out and counted.
        """
        open_lines: dict[Channel, tuple[LogRecord, list[bytes]]] = {}
        met, cut = 0, set[Channel]()
        for record in records:
            if gaps() != met:
                met, cut = gaps(), set(STREAMS)
                self.torn += len(open_lines)
                open_lines.clear()
            if record.channel not in STREAMS:
                try:
                    value = decode_value(record.tag, record.data)
                except (ValueError, KeyError, TypeError, AttributeError, struct.error, RecursionError, OverflowError):
                    self.senseless += 1
                    continue
                yield self._row(record, value)
                continue
            data = record.data
            if record.channel in cut:
                _, end, data = data.partition(b"\n")
                if end:
                    cut.discard(record.channel)
                    self.torn += 1
                if not data:
                    continue
            first, pieces = open_lines.pop(record.channel, (record, []))
            *whole, rest = data.split(b"\n")
            for line in whole:
                yield self._row(first, b"".join([*pieces, line]).decode("utf-8", "surrogateescape"))
                first, pieces = record, []
            if rest or pieces:
                open_lines[record.channel] = (first, [*pieces, rest])
        if gaps() != met:
            self.torn += len(open_lines)
            return
        for first, pieces in open_lines.values():
            yield self._row(first, b"".join(pieces).decode("utf-8", "surrogateescape"))

    def _row(self, record: LogRecord, value: Any) -> Row:
        label = LABELS[record.channel]
        position, loops = self._place(record.position)
        statement = record.statement
        where = f"{statement.file}:{statement.line}" if statement.file else ""
        name = record.name or label
        return Row(name, value, label, position, loops, where, record.time, self.rank, self.origin, self.replay)

    def _place(self, position: Position) -> Place:
        """The position for people and its loops; what is around the last iteration is remembered for the next row."""
        if not position:
            return readable(position, self.names), ()
        loop, occurrence, iteration = position[-1]
        around = (position[:-1], loop, occurrence)
        if around != self._around:
            text = readable(position, self.names)
            if is_block(loop):
                return text, self._loops(position)
            *outer, (name, _) = self._loops(position)
            self._around, self._text, self._outer, self._name = around, text[: text.rindex("=") + 1], tuple(outer), name
        return f"{self._text}{iteration}", (*self._outer, (self._name, iteration))

    def _loops(self, position: Position) -> Loops:
        """Iterations by the loop's short name, outermost first; a name that comes twice gets its function before it."""
        found: dict[str, int] = {}
        for level in position:
            name = given_name(level.loop) or self.names.get(level.loop, "loop")
            key = name if name not in found else f"{LoopId.parse(level.loop).function}:{name}"
            found[key] = level.iteration
        return tuple(found.items())


def wanted(record: LogRecord, names: frozenset[str]) -> bool:
    """True if the record has one of these names; a channel's label means all of that channel."""
    return not names or record.name in names or record.channel.label in names


def plain_value(tag: Tag, data: bytes) -> Any:
    """A value as Python's own types."""
    value = decode_value(tag, data)
    return value.tolist() if isinstance(value, TensorValue) else value
