"""Records and frames: what each kind of frame holds."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any

from flor.model.positions import Level, Position
from flor.model.records import Channel, Ended, Facts, Inputs, LogRecord, Note, Record, Source, Statement, Tag
from flor.store.frames import HEAD, Frame


class Kind(IntEnum):
    """What a frame is; the numbers are on disk."""

    INTERN = 1
    LOG = 2
    FACTS = 3
    SOURCE = 4
    NOTE = 5
    ENDED = 6
    INPUTS = 7


LEVEL = struct.Struct("<III")
"""One level of a position: interned loop, occurrence, iteration."""
LOG = struct.Struct("<BBHIId")
"""channel, tag, bytes of the position, interned name, interned statement, time; then position, then data."""
LOG_FRAME = struct.Struct(HEAD.format + LOG.format.lstrip("<"))
"""The frame's head and the log's in one, because packing twice would show in the training loop."""
ID = struct.Struct("<I")
COUNTS = struct.Struct("<QQ")
_LENGTHS = struct.Struct("<II")

_LOG = int(Kind.LOG)
_CHANNELS = {int(channel): channel for channel in Channel}
_TAGS = {int(tag): tag for tag in Tag}

Intern = Callable[[str], int]


class UndecodableError(ValueError):
    """A frame whose bytes are as written and yet make no record."""


def text_bytes(text: str) -> bytes:
    """Any Python text as bytes, lone surrogates of undecodable file names too."""
    return text.encode("utf-8", "surrogatepass")


def intern_payload(number: int, text: str) -> bytes:
    """The definition of one interned text."""
    return ID.pack(number) + text_bytes(text)


def position_bytes(position: Position, intern: Intern) -> bytes:
    """A position as packed levels."""
    return b"".join(LEVEL.pack(intern(level.loop), level.occurrence, level.iteration) for level in position)


def encode(record: Facts | Source | Ended | Note, *, frames: int = 0, offset: int = 0) -> tuple[Kind, bytes]:
    """The kind and payload of a record; an `Ended` takes along how many frames and bytes are before it."""
    match record:
        case Facts():
            return Kind.FACTS, _json(record.values)
        case Source():
            path, module = text_bytes(record.path), text_bytes(record.module)
            return Kind.SOURCE, _LENGTHS.pack(len(path), len(module)) + path + module + record.text
        case Note():
            return Kind.NOTE, _json({"kind": record.kind, "values": record.values})
        case Ended():
            return Kind.ENDED, COUNTS.pack(frames, offset) + _json(record.values)


def _json(values: Mapping[str, Any]) -> bytes:
    """JSON of the values; what JSON can't say is said by its repr, since recording never raises into training."""
    try:
        return json.dumps(dict(values), default=repr, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        return json.dumps({"unencodable": f"{type(error).__name__}: {error}"}).encode()


class Decoder:
    """Frames of one journal to records; remembers its interned texts."""

    def __init__(self) -> None:
        self._texts: dict[int, str] = {}
        self._statements: dict[int, Statement] = {}
        self._last: tuple[bytes, Position] = (b"", ())

    def decode(self, frame: Frame) -> Record | None:
        """The frame's record; None for a definition; UndecodableError if it makes no sense."""
        try:
            if frame.kind == _LOG:  # the most by far
                return self._log(frame.payload)
            return self._decode(frame.kind, frame.payload)
        except UndecodableError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, struct.error, RecursionError) as error:
            raise UndecodableError(f"a frame of kind {frame.kind} that makes no record: {error}") from error

    def _decode(self, kind: int, payload: bytes) -> Record | None:
        match kind:
            case Kind.INTERN:
                self._define(payload)
                return None
            case Kind.FACTS:
                return Facts(_object(payload))
            case Kind.SOURCE:
                return _source(payload)
            case Kind.NOTE:
                note = _object(payload)
                return Note(str(note["kind"]), dict(note["values"]))
            case Kind.ENDED:
                return Ended(_object(payload[COUNTS.size :]))
            case Kind.INPUTS:
                return Inputs(payload, self._texts)
        raise UndecodableError(f"a frame of unknown kind {kind}")

    def _define(self, payload: bytes) -> None:
        number = ID.unpack_from(payload)[0]
        text = payload[ID.size :].decode("utf-8", "surrogatepass")
        if self._texts.setdefault(number, text) != text:
            raise UndecodableError(f"a second definition of text {number}")

    def _log(self, payload: bytes) -> LogRecord:
        channel, tag, size, name, statement, time = LOG.unpack_from(payload)
        data = LOG.size + size
        if data > len(payload):
            raise UndecodableError("a log record whose position is cut off")
        texts = self._texts
        return LogRecord(
            _CHANNELS[channel],
            texts[name] if name in texts else self._text(name),
            _TAGS[tag],
            payload[data:],
            self._position(payload[LOG.size : data]),
            self._statements.get(statement) or self._statement(statement),
            time,
        )

    def _position(self, levels: bytes) -> Position:
        """The position; the last one is remembered, because most iterations log more than one value."""
        if levels != self._last[0]:
            unpacked = LEVEL.iter_unpack(levels)
            self._last = levels, tuple(Level(self._text(loop), nth, at) for loop, nth, at in unpacked)
        return self._last[1]

    def _text(self, number: int) -> str:
        text = self._texts.get(number)
        if text is None:
            raise UndecodableError(f"a log record that uses text {number}, whose definition is damaged")
        return text

    def _statement(self, number: int) -> Statement:
        known = self._statements[number] = Statement.parse(self._text(number))
        return known


def counts(frame: Frame) -> tuple[int, int]:
    """How many frames and bytes an `Ended` frame says are before it."""
    frames, offset = COUNTS.unpack_from(frame.payload)
    return frames, offset


def _object(payload: bytes) -> dict[str, Any]:
    found = json.loads(payload)
    if not isinstance(found, dict):
        raise UndecodableError("JSON that is no object")
    return found


def _source(payload: bytes) -> Source:
    path, module = _LENGTHS.unpack_from(payload)
    start, text = _LENGTHS.size, _LENGTHS.size + path + module
    if text > len(payload):
        raise UndecodableError("a source whose names are cut off")
    name = payload[start : start + path].decode("utf-8", "surrogatepass")
    return Source(name, payload[start + path : text].decode("utf-8", "surrogatepass"), payload[text:])
