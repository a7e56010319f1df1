"""What the child processes of a worker logged, put among the worker's own records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from flor.model.records import Channel, Ended, LogRecord, Note, Record
from flor.store.reader import read_journal

MARK = ".child-"
DEAF = ".deaf"  # in place of a journal: why a child could not be listened to
SPANNING, UNORDERED, PRINTING = "spanning child", "unordered children", "printing child"
UNHEARD = "unheard child"


def journal_of_child(parent: Path, pid: int, time: float) -> Path:
    """Where a child of a worker logs: beside its parent's journal."""
    return parent.with_name(f"{parent.stem}{MARK}{time:.6f}-{pid}.live")


@dataclass(frozen=True)
class Child:
    """One child process: when it began, and what its probes logged."""

    pid: int
    logs: tuple[LogRecord, ...]
    prints: bool  # something that is no probe's

    @classmethod
    def read(cls, path: Path, probes: Mapping[str, Sequence[int]]) -> Child:
        """From its journal; a probe's are the records of these lines."""
        records = [record for record in read_journal(path) if isinstance(record, LogRecord)]
        own = tuple(record for record in records if record.statement.line in probes.get(record.statement.file, ()))
        others = any(record.channel is Channel.STDOUT for record in records if record not in own)
        return cls(int(path.stem.rpartition("-")[2]), own, others)


def with_children(said: list[Record], folder: Path, name: str, probes: Mapping[str, Sequence[int]]) -> list[Record]:
    """A worker's records, with those of its children where they came in time, and what is to be said of these."""
    files = sorted(folder.glob(f"{name}{MARK}*"))
    paths = [path for path in files if path.suffix in (".live", ".journal")]
    deaf = [Note(UNHEARD, {"error": path.read_text()}) for path in files if path.suffix == DEAF]
    if not paths:
        return [*deaf, *said]
    children = [Child.read(path, probes) for path in paths]
    logging = [child for child in children if child.logs]
    logs = sorted((record for child in logging for record in child.logs), key=lambda record: record.time)
    notes = [note for note in _notes(said, logging) if note is not None]
    if any(child.prints for child in children):
        notes.append(Note(PRINTING, {}))
    return [*deaf, *notes, *_woven(said, logs)]


def _notes(said: Sequence[Record], logging: Sequence[Child]) -> Iterator[Note | None]:
    """What can't be right or can't be known: a child that lives across an end of the segment, several at a time."""
    living = {pid for note in said if isinstance(note, Note) for pid in note.values.get("children", ())}
    yield next((Note(SPANNING, {"pid": child.pid}) for child in logging if child.pid in living), None)
    spans = sorted((child.logs[0].time, child.logs[-1].time) for child in logging)
    yield Note(UNORDERED, {}) if any(one[1] > other[0] for one, other in pairwise(spans)) else None


def _woven(said: Iterable[Record], logs: Sequence[LogRecord]) -> Iterator[Record]:
    """Both in the order of their times; what a child logs after the segment's end is the next one's."""
    at, stopped = 0, False
    for record in said:
        time = _time(record)
        while not stopped and at < len(logs) and time is not None and logs[at].time <= time:
            yield logs[at]
            at += 1
        stopped |= isinstance(record, Note) and record.kind == "stopped"
        yield record


def _time(record: Record) -> float | None:
    if isinstance(record, Ended):
        return float("inf")
    if isinstance(record, LogRecord):
        return record.time
    return record.values.get("time") if isinstance(record, Note) else None


def about_children(streams: Iterable[Sequence[Record]]) -> list[str]:
    """What the user is told of the order of the children's lines."""
    if not any(_says(records, UNORDERED) for records in streams):
        return []
    return ["processes that ran at the same time logged: of these, only each one's own lines have a defined order"]


def children_print(streams: Iterable[Sequence[Record]]) -> bool:
    """True if forked children print by themselves: that is not in the record."""
    return any(_says(records, PRINTING) for records in streams)


def _says(records: Iterable[Record], kind: str) -> bool:
    return any(isinstance(record, Note) and record.kind == kind for record in records)
