"""What is known of each loop of a run: how often, how long, what it may change and why, what of it is kept."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass
from typing import Any

from flor.query.costs import counted
from flor.query.runs import Run
from flor.source.blocks import find_loops
from flor.source.changeset import changed_names
from flor.source.effects import summarize


@dataclass(frozen=True)
class LoopReport:
    """One loop."""

    loop: str
    name: str
    executions: int
    iterations: int
    seconds: float
    ends: int
    points: int
    functions: tuple[str, ...]
    changes: dict[str, str]  # name -> the rule by which it may change, and the line
    verdict: str

    def as_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {**vars(self), "functions": list(self.functions)}


def loop_reports(run: Run) -> list[LoopReport]:
    """Every loop that was recorded, in the order in which they were first begun."""
    changes = _changes(run)
    keys = [note.values["key"] for note in run.checkpoints]
    ends = Counter(key["loop"] for key in keys if key["iteration"] is None)
    points = Counter(key["loop"] for key in keys if key["iteration"] is not None)
    refused = run.ended.get("checkpoints", {}).get("refused", {})
    reports = []
    for loop, facts in run.ended.get("loops", {}).items():
        reasons = [refused[place] for place in (loop, loop + "@") if place in refused]
        reports.append(
            LoopReport(
                loop=loop,
                name=run.loop_names.get(loop, ""),
                executions=facts["executions"],
                iterations=facts["iterations"],
                seconds=facts["seconds"],
                ends=ends[loop],
                points=points[loop],
                functions=tuple(facts["functions"]),
                changes=changes.get(loop, {}),
                verdict=_verdict(reasons, ends[loop] + points[loop], facts),
            )
        )
    return reports


def _verdict(reasons: list[str], kept: int, facts: dict[str, Any]) -> str:
    if reasons:
        return f"re-execute: {reasons[0]}"
    if kept:
        return "kept"
    return "re-execute: left alone, its executions are too short" if facts["demoted"] else "re-execute: too short"


def _changes(run: Run) -> dict[str, dict[str, str]]:
    """For each loop, the names that it may change, by the static rules; what is kept is decided at run time."""
    trees = {file: ast.parse(text) for file, text in run.sources.items()}
    effects = summarize(trees)
    found: dict[str, dict[str, str]] = {}
    for file, tree in trees.items():
        for loop in find_loops(tree, file):
            names = changed_names(loop, effects)
            found[str(loop.id)] = {name: f"{reason.rule}, line {reason.line}" for name, reason in names.items()}
    return found


def loops_text(run: Run) -> str:
    """Each loop with its changeset, for people."""
    parts = []
    for report in loop_reports(run):
        ran = f"{counted(report.executions, 'time')}, {counted(report.iterations, 'iteration')}"
        parts.append(
            f"{report.loop} ({report.name})\n"
            f"  ran        {ran}, {report.seconds:.2f} s\n"
            f"  kept       {counted(report.ends, 'end')}, {counted(report.points, 'resume point')}\n"
            f"  verdict    {report.verdict}"
        )
        parts += [f"  may change {name}: {reason}" for name, reason in report.changes.items()]
        parts += [f"  entered    {function}" for function in report.functions]
    return "\n".join(parts) or "no loops were recorded to their end"
