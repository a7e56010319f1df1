"""Results of replays, kept beside the run: they join its logs, and answer the same question again."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from xxhash import xxh3_128_hexdigest

from flor.model.plan import Plan
from flor.model.records import Ended, LogRecord, Note
from flor.query.runs import Run
from flor.replay.merging import Findings, Merged
from flor.replay.result import Result
from flor.store.journal import JournalWriter
from flor.store.names import propose
from flor.store.reader import read_journal

NAME = "hindsight"


def new_folder(run: Run) -> Path:
    """A new folder for a replay's results."""
    replays = run.folder.path / "replays"
    replays.mkdir(mode=0o700, exist_ok=True)
    while True:
        folder = replays / f"{time.time_ns():020d}-{propose()}"
        try:
            folder.mkdir(mode=0o700)
            return folder
        except FileExistsError:
            continue


def question(sources: Mapping[str, str], **options: Any) -> str:
    """What a replay asks, as a hash: the sources with their probes, and the options that change the answer."""
    return xxh3_128_hexdigest(json.dumps([sorted(sources.items()), options], sort_keys=True).encode())


def keep(folder: Path, result: Result, asked: str, loop_names: Mapping[str, str], rank: int = 0) -> None:
    """Write a rank's probe records as a journal; `at` notes say before which recorded log each belongs."""
    journal = JournalWriter.create(folder / f"{NAME}{f'-{rank}' if rank else ''}.live")
    journal.append(Note("loops", {"names": dict(loop_names)}))
    before, noted = 0, -1
    for merged in result.merged:
        if merged.rank != rank:
            continue
        if merged.origin == "recorded":
            before += 1
            continue
        if before != noted:
            journal.append(Note("at", {"index": before}))
            noted = before
        journal.append(merged.record)
    journal.seal(Ended({**result.summary(), "question": asked}))


def answer(run: Run, asked: str, recorded: list[LogRecord], plan: Plan) -> Result | None:
    """The exact result of an earlier replay that asked the same, if there is one."""
    for path in reversed(run.replays()):
        reader = read_journal(path)
        records = list(reader)
        if reader.damage:
            continue  # it is asked again
        ended = next((record.values for record in records if isinstance(record, Ended)), {})
        if ended.get("question") != asked or ended.get("verdict") != "exact":
            continue
        findings = Findings(ended["values_identical"], ended["values_volatile"], ended["checkpoints_identical"] or 0)
        result = Result(_woven(recorded, records), findings, replace(plan, segments=plan.segments), 0.0)
        result.notes.append(f"answered from the replay {path.parent.name}")
        result.executed, result.skipped = ended["blocks_executed"], ended["blocks_skipped"]
        result.events = ended.get("tensorboard", "")
        return result
    return None


def _woven(recorded: list[LogRecord], kept: list[Any]) -> list[Merged]:
    merged: list[Merged] = []
    at = 0
    for record in kept:
        if isinstance(record, Note) and record.kind == "at":
            merged += [Merged("recorded", log) for log in recorded[at : record.values["index"]]]
            at = record.values["index"]
        elif isinstance(record, LogRecord):
            merged.append(Merged("hindsight", record))
    return [*merged, *(Merged("recorded", log) for log in recorded[at:])]
