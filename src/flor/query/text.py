"""Runs and rows as text for people, and as JSON for programs."""

from __future__ import annotations

import ast
import json
import re
import time
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from flor.errors import NoSuchScript
from flor.model.values import as_text
from flor.query.costs import cost_lines
from flor.query.rows import Row
from flor.query.runs import Run, Summary
from flor.source.instrument import instrument

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def runs_table(summaries: Iterable[Summary]) -> str:
    """One line a run."""
    rows: list[tuple[str, ...]] = [("run", "status", "started", "seconds", "records", "checkpoints", "command")]
    rows += [_cells(summary) for summary in summaries]
    return columns(rows) if len(rows) > 1 else "no runs here yet; make one with: flor record SCRIPT"


def _cells(summary: Summary) -> tuple[str, ...]:
    return (
        summary.name,
        summary.status,
        time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(summary.started)),
        "" if summary.seconds is None else f"{summary.seconds:.1f}",
        "" if summary.records is None else f"{summary.records:,}",
        str(summary.checkpoints),
        " ".join(summary.argv),
    )


def columns(rows: list[tuple[str, ...]]) -> str:
    """Rows with their columns aligned."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(lines)


def summary_json(summary: Summary) -> dict[str, Any]:
    """Plain JSON of a summary."""
    return {**asdict(summary), "argv": list(summary.argv)}


def run_json(run: Run) -> dict[str, Any]:
    """Everything that is known of a run, but for its logs and the texts of its sources."""
    return {
        **summary_json(run.summary),
        "facts": run.facts,
        "ended": run.ended,
        "sources": {name: len(text) for name, text in run.sources.items()},
        "notes": [{"kind": note.kind, **note.values} for note in run.notes if note.kind not in ("loop", "checkpoint")],
        "checkpoint_keys": [note.values["key"] for note in run.checkpoints],
        "damage": [[fragment, asdict(damage)] for fragment, damage in run.damage],
    }


def run_text(run: Run) -> str:
    """A run on one screen."""
    facts, ended, summary = run.facts, run.ended, run.summary
    lines = [
        f"{run.name}: {summary.status}" + (f", exit {summary.exit}" if summary.exit is not None else ""),
        f"  command      {' '.join(summary.argv)}",
        f"  folder       {facts.get('cwd', '')}",
        f"  started      {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(summary.started))}",
    ]
    if ended:
        lines.append(f"  took         {ended['seconds']:.1f} s, {ended['cpu_seconds']:.1f} s of CPU")
        lines.append(f"  logs         {ended['records']:,} records")
        for number, line in enumerate(cost_lines(ended["checkpoints"], ended["seconds"])):
            lines.append(f"  {'' if number else 'checkpoints':12} {line}")
    git = facts.get("git")
    if git:
        lines.append(f"  git          {git['commit'][:12]}{', dirty' if git['dirty'] else ''}")
    lines.append(f"  python       {facts.get('python', '')} on {facts.get('platform', '')}")
    lines += [
        f"  torch        {n.values['version']}, {n.values['threads']} threads" for n in run.notes if n.kind == "torch"
    ]
    lines += [f"  source       {name} ({len(text):,} bytes)" for name, text in run.sources.items()]
    lines += [f"  trouble      {note.values['text']}" for note in run.notes if note.kind == "trouble"]
    lines += [f"  damaged      {fragment} at byte {damage.offset}: {damage.reason}" for fragment, damage in run.damage]
    if ended.get("traceback"):
        lines += ["", ended["traceback"].rstrip()]
    return "\n".join(lines)


def row_text(row: Row) -> str:
    """A row for people."""
    mark = {"hindsight": "+ ", "replayed": "= "}.get(row.origin, "")
    value = row.value if isinstance(row.value, str) else json.dumps(row.as_json()["value"], default=as_text)
    name = "" if row.channel in ("stdout", "stderr") else f"{row.name} = "
    return visible(f"{mark}{row.position}  {name}{value}")


def visible(text: str) -> str:
    """Text with its control characters written out: what was logged must not steer the terminal of its reader."""
    return _CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def instrumented(script: Path) -> str:
    """A script with flor's calls in it."""
    try:
        text = script.read_bytes()
    except OSError as error:
        raise NoSuchScript(f"{script} can't be read: {error.strerror}.") from error
    return ast.unparse(instrument(ast.parse(text, str(script)), script.name))
