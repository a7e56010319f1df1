"""Whether a script that replayed itself did what the record says: the paper's deferred check."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from flor.model.plan import Plan, Segment
from flor.model.records import Note, Record
from flor.replay.keeping import keep
from flor.replay.report import verdict_text
from flor.replay.result import Result
from flor.replay.verb import Replay
from flor.replay.weaving import Extent
from flor.store.reader import read_journal


def verdict(replay: Replay, plan: Plan, segment: Segment, folder: Path, pid: int) -> str:
    """Compare one part with the record, keep what its probes logged beside the run, and say how it went."""
    records = [record for record in _journal(folder) if not _is_other_segment(record, segment)]
    merger = replay.merger()
    result = Result([], merger.findings, plan, 0.0, warnings=list(replay.warnings))
    part = replay.parts(plan).part(plan, segment, first=segment.start == 0, extent=Extent(replay.history.cut_off))
    result.merged += merger.merge(replace(part, in_worker=False), records)
    result.count(records)
    keep(folder, result, "", {})
    return verdict_text(replay, result)


def _journal(folder: Path) -> list[Record]:
    found = [path for path in folder.glob("w*.*") if path.suffix in (".live", ".journal")]
    return list(read_journal(found[0])) if found else []


def _is_other_segment(record: Record, segment: Segment) -> bool:
    """True if a segment was begun that then was not the one to be replayed."""
    return isinstance(record, Note) and record.kind == "segment" and record.values["start"] != segment.start
