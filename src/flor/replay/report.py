"""Plans and results in words, and as JSON."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from flor.model.positions import readable
from flor.query.costs import counted
from flor.query.rows import Reading
from flor.query.runs import Run
from flor.replay.result import Result
from flor.replay.sources import present_sources, recorded_sources
from flor.replay.verb import Replay

NAMED = 20  # programs, connections and signals that a verdict names


def plan_text(replay: Replay) -> str:
    """What runs, from which checkpoints, and about how long it takes."""
    plan = replay.plan()
    names = replay.run.loop_names
    lines = [f"{replay.run.name}: {len(replay.edit.probes)} added statements"]
    lines += [f"  {probe.file}:{probe.first_line} {probe.kind} in {probe.function}" for probe in replay.edit.probes]
    lines += [f"  {reason}" for reason in plan.reasons]
    if plan.main is not None:
        name = names.get(plan.main.loop, "loop")
        lines.append(f"  main loop    {plan.main.loop} ({name}), {plan.iterations} iterations")
        executed = sorted(loop for loop in names if plan.must_run(loop))
        lines.append(f"  must run     {', '.join(executed) or 'no loop'}")
    for number, segment in enumerate(plan.segments):
        stop = plan.iterations if segment.stop is None else segment.stop
        begin = "the script's beginning" if segment.resume is None else f"the checkpoint at {segment.resume}"
        lines.append(f"  worker {number}     iterations {segment.start} to {stop}, from {begin}")
    lines.append(f"  about        {plan.estimate:.0f} s (the record took {replay.history.seconds:.0f} s)")
    return "\n".join(lines)


def verdict_text(replay: Replay, result: Result) -> str:
    """The last word on stderr."""
    findings, escaped = result.findings, escapes_text(result.escapes)
    for warning in result.warnings:
        if not findings.divergences:
            return f"flor: replayed, but it may differ: {warning}{escaped} [may-differ]"
    if findings.divergences:
        first = findings.divergences[0]
        where = readable(first.position, replay.run.loop_names)
        return f"flor: diverged at {where}, {first.statement}: {first}{escaped} [diverged]"
    values = f"{counted(findings.identical, 'recorded value')} identical"
    values += f", {counted(findings.checkpoints, 'checkpoint')} identical"
    work = f"{counted(result.executed, 'block')} executed, {result.skipped:,} skipped, {result.seconds:.1f} s"
    work += escaped
    if result.notes:
        work += f"; {result.notes[0]}"
    if not result.plan.segments:
        return "flor: exact: no log statement was added, so nothing was run"
    return f"flor: exact: {values} ({work})"


def escapes_text(escapes: Sequence[str]) -> str:
    """Every program, connection and signal that reached outside, each once, with how often."""
    counts = Counter(escapes)
    named = [f"{escape} ({times} times)" if times > 1 else escape for escape, times in counts.items()]
    if len(named) > NAMED:
        named[NAMED:] = [f"and {len(named) - NAMED} more, which --json names"]
    return f"; not isolated: {', '.join(named)}" if named else ""


def result_json(replay: Replay, result: Result, everything: bool) -> Iterator[dict[str, Any]]:
    """One object a record, then the summary."""
    for origin in ("recorded", "hindsight") if everything else ("hindsight",):
        for rank in range(len(replay.ranks)):
            reading = Reading(replay.run.loop_names, origin=origin, rank=rank)
            records = (merged.record for merged in result.merged if (merged.origin, merged.rank) == (origin, rank))
            yield from (row.as_json() for row in reading.rows(records))
    yield {"summary": result.summary()}


def diff_text(run: Run) -> str:
    """A unified diff of recorded and present sources."""
    present = present_sources(run)
    parts = []
    for name, text in recorded_sources(run).items():
        new = present.get(name) or ""
        lines = difflib.unified_diff(
            text.splitlines(keepends=True), new.splitlines(keepends=True), f"recorded/{name}", f"present/{name}"
        )
        parts += list(lines)
    return "".join(parts)
