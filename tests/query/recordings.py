"""Runs with logged values, made without any training."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable
from pathlib import Path

from flor.model.checkpoints import Checkpoint, Key
from flor.model.positions import Execution, Level, Position
from flor.model.records import Channel, Ended, Facts, LogRecord, Note, Source, Statement, Tag
from flor.query.runs import Run, run
from flor.store.journal import JournalWriter
from flor.store.layout import Layout
from flor.store.run import create_run

SCRIPT = b"for epoch in range(4):\n    for batch in range(5):\n        pass\n"
EPOCH, BATCH = "train.py::<module>#0", "train.py::<module>#1"
Logged = tuple[str, object, Position]


def at(epoch: int, batch: int | None = None) -> Position:
    """A position of the script."""
    outer = Level(EPOCH, 0, epoch)
    return (outer,) if batch is None else (outer, Level(BATCH, 0, batch))


def log(name: str, value: object, position: Position, channel: Channel = Channel.FLOR) -> LogRecord:
    tag, data = _encoded(value)
    return LogRecord(channel, name, tag, data, position, Statement("train.py", 3, "<module>"), 1000.0)


def _encoded(value: object) -> tuple[Tag, bytes]:
    match value:
        case bool():
            return (Tag.TRUE if value else Tag.FALSE), b""
        case int():
            return Tag.INT, str(value).encode()
        case float():
            return Tag.FLOAT, struct.pack("<d", value)
        case str():
            return Tag.STR, value.encode()
        case bytes():
            return Tag.TENSOR, value
        case _:
            return Tag.JSON, json.dumps(value).encode()


def tensor(*elements: float) -> bytes:
    """A float32 tensor of one dimension."""
    header = json.dumps({"dtype": "float32", "shape": [len(elements)]})
    return header.encode() + b"\n" + struct.pack(f"<{len(elements)}f", *elements)


def recording(folder: Path, records: Iterable[LogRecord], checkpoints: Iterable[Key] = ()) -> Run:
    """A run called `r` with these records."""
    layout = Layout(folder / ".flor")
    journal = create_run(layout, "r").fragment(0, 1)
    journal.append(Facts({"argv": ["train.py"], "script": "train.py", "started": 1000.0}))
    journal.append(Source("train.py", "__main__", SCRIPT))
    for record in records:
        journal.append(record)
    for number, key in enumerate(checkpoints):
        journal.append(Note("checkpoint", Checkpoint(key, f"p{number}.safetensors/g", {}, 0.0, 0, 0).as_json()))
    journal.seal(Ended({"exit": 0, "status": "finished"}))
    return run("r", layout.root)


def add_replay(found: Run, name: str, records: Iterable[LogRecord]) -> None:
    """Hindsight of that run."""
    folder = found.folder.path / "replays" / name
    folder.mkdir(parents=True)
    journal = JournalWriter.create(folder / "hindsight.live")
    for record in records:
        journal.append(record)
    journal.seal(Ended({"verdict": "exact"}))


def losses(scale: float = 1.0, name: str = "loss") -> list[LogRecord]:
    """Five values in each of four epochs."""
    return [log(name, scale / (1 + 5 * e + b), at(e, b)) for e in range(4) for b in range(5)]


def resume_point(epoch: int) -> Key:
    return Key(Execution((), EPOCH, 0), epoch)


def inner_end(epoch: int) -> Key:
    return Key(Execution(at(epoch), BATCH, 0), None)
