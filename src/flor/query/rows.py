"""Log records as rows: plain values, loop iterations as columns, text joined to lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from flor.model.positions import LoopId, Position, readable
from flor.model.records import Channel, LogRecord, Tag
from flor.model.values import TensorValue, decode_value

STREAMS = (Channel.STDOUT, Channel.STDERR)


@dataclass(frozen=True, slots=True)
class Row:
    """One logged value, or one line of a stream."""

    name: str
    value: Any
    channel: str
    position: str
    loops: tuple[tuple[str, int], ...]
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


@dataclass
class Reading:
    """How records of one fragment are turned into rows."""

    names: dict[str, str] = field(default_factory=dict)
    rank: int = 0
    origin: str = "recorded"
    replay: str | None = None

    def rows(self, records: Iterable[LogRecord]) -> Iterator[Row]:
        """Rows in order; pieces of a stream are joined until their line ends."""
        open_lines: dict[Channel, tuple[LogRecord, list[bytes]]] = {}
        for record in records:
            if record.channel not in STREAMS:
                yield self._row(record, decode_value(record.tag, record.data))
                continue
            first, pieces = open_lines.pop(record.channel, (record, []))
            *whole, rest = record.data.split(b"\n")
            for line in whole:
                yield self._row(first, b"".join([*pieces, line]).decode("utf-8", "surrogateescape"))
                first, pieces = record, []
            if rest or pieces:
                open_lines[record.channel] = (first, [*pieces, rest])
        for first, pieces in open_lines.values():
            yield self._row(first, b"".join(pieces).decode("utf-8", "surrogateescape"))

    def _row(self, record: LogRecord, value: Any) -> Row:
        statement = record.statement
        return Row(
            name=record.name or record.channel.label,
            value=value,
            channel=record.channel.label,
            position=readable(record.position, self.names),
            loops=self._loops(record.position),
            statement=f"{statement.file}:{statement.line}" if statement.file else "",
            time=record.time,
            rank=self.rank,
            origin=self.origin,
            replay=self.replay,
        )

    def _loops(self, position: Position) -> tuple[tuple[str, int], ...]:
        """Iterations by the loop's short name, outermost first; a name that comes twice gets its function before it."""
        found: dict[str, int] = {}
        for level in position:
            name = self.names.get(level.loop, "loop")
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
