"""What a run leaves behind: the records of its journal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple

from flor.model.positions import Position


class Channel(IntEnum):
    """Which way a log record took."""

    STDOUT = 1
    STDERR = 2
    LOGGING = 3
    FLOR = 4
    TENSORBOARD = 5
    WANDB = 6
    MLFLOW = 7
    TRACKIO = 8
    COMET = 9
    LIBRARY = 10  # logging, by code of an installed library

    @property
    def label(self) -> str:
        """The lower-case name that people and JSON see."""
        return self.name.lower()


class Tag(IntEnum):
    """How a value is written in a log record."""

    NONE = 0
    FALSE = 1
    TRUE = 2
    INT = 3  # decimal ASCII
    FLOAT = 4  # 8 bytes, IEEE double, little endian
    STR = 5  # UTF-8 (surrogateescape)
    JSON = 6  # UTF-8 JSON
    TENSOR = 7  # JSON header line (dtype, shape), newline, raw little-endian bytes
    REPR = 8  # UTF-8 text of repr(): not a value, only what it looked like


@dataclass(frozen=True, slots=True)
class Statement:
    """The line of the user's code that logged: file relative to the project, line, function's qualified name."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.function}"

    @classmethod
    def parse(cls, text: str) -> Statement:
        """The statement that `str` wrote; the text of none gives an empty one."""
        file, _, rest = text.partition(":")
        line, _, function = rest.partition(":")
        return cls(file, int(line or 0), function)


class LogRecord(NamedTuple):
    """One logged value, in the order of its fragment; a tuple, because a run may have millions."""

    channel: Channel
    name: str
    tag: Tag
    data: bytes
    position: Position
    statement: Statement
    time: float


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known when a run begins. `values` is plain JSON: argv, cwd, python, packages, threads, git ..."""

    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Source:
    """A file as it was executed."""

    path: str
    module: str
    text: bytes


@dataclass(frozen=True, slots=True)
class Ended:
    """How a fragment ended. `values` is plain JSON: status, traceback, wall and CPU seconds, loops."""

    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Note:
    """Anything else that was said during the run, as JSON with a `kind`."""

    kind: str
    values: Mapping[str, Any] = field(default_factory=dict)


Atom = float | int | str | bytes | None
"""The value of an input as it is kept; None for the end of a stream."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """What the world told the program since the last such record: packed readings, and the texts that they number."""

    data: bytes = field(repr=False)
    texts: Mapping[int, str] = field(repr=False)


Record = LogRecord | Facts | Source | Ended | Note | Inputs
