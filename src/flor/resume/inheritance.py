"""What a resumed run takes over: the logs, notes and checkpoints of the first part, so that it is a whole run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from flor.model.checkpoints import Checkpoint, Key
from flor.model.edits import LineMap
from flor.model.records import Inputs, LogRecord, Note, Record, Source
from flor.query.runs import Run
from flor.replay.history import History
from flor.replay.weaving import Parts
from flor.store.inputs import count, truncated
from flor.store.reader import read_journal
from flor.store.run import RunFolder

OWN = ("torch", "numpy", "trouble")  # what the new process notes itself


def inherited(run: Run, history: History, target: Key, lines: LineMap) -> Iterator[Record]:
    """The records of the first part up to the checkpoint; statements are where the present sources have them."""
    left, known = logs_before(history, target), run.dropped
    readings = history.checkpoints[target].inputs
    for record in read_journal(run.folder.fragments()[0]):
        if isinstance(record, LogRecord) and left:
            left -= 1
            yield moved(record, lines)
        elif isinstance(record, Inputs) and readings > 0:
            yield truncated(record, readings)
            readings -= count(record)
        elif isinstance(record, Source) or (isinstance(record, Note) and record.kind not in OWN):
            if isinstance(record, Note) and record.kind == "checkpoint" and record.values["graph"] in known:
                continue
            yield record
            if isinstance(record, Note) and is_checkpoint(record, target):
                return


def logs_before(history: History, target: Key) -> int:
    """How many log records came before the moment of a checkpoint."""
    end = history.ends.get(target.execution, len(history.logs))
    return end if target.iteration is None else Parts(history.logs, target.execution, end).at(target.iteration)


def is_checkpoint(note: Note, key: Key) -> bool:
    """True if the note announces this checkpoint."""
    return note.kind == "checkpoint" and Key.from_json(note.values["key"]) == key


def moved(record: LogRecord, lines: LineMap) -> LogRecord:
    """The record with its statement's present line; 0 if that is gone, so that a replay will not find it."""
    statement = record.statement
    present = lines.present(statement.file, statement.line) if statement.file else statement.line
    return record if present == statement.line else record._replace(statement=replace(statement, line=present or 0))


def link_packs(note: Note, old: RunFolder, new: RunFolder) -> None:
    """Have the packs of a checkpoint in the new run as well; the same bytes, if the disk can do that."""
    checkpoint = Checkpoint.from_json(note.values)
    for name in {checkpoint.graph.partition("/")[0], *checkpoint.blobs.values()}:
        source, target = old.packs / name, new.packs / name
        if source.exists() and not target.exists():
            _link(source, target)


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def hand_over(records: Iterator[Record], append: Callable[[Record], None], old: RunFolder, new: RunFolder) -> None:
    """Write what is taken over into the new run: packs before the notes that speak of them."""
    for record in records:
        if isinstance(record, Note) and record.kind == "checkpoint":
            link_packs(record, old, new)
        append(record)
