"""Rows as CSV, with a column a loop, and as JSON lines."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from typing import IO, Any

from flor.model.values import as_text
from flor.query.rows import Row
from flor.query.runs import Run

FIRST = ("name", "value")
LAST = ("channel", "position", "statement", "time", "rank", "origin", "replay")


def write_csv(run: Run, names: Sequence[str], file: IO[str]) -> int:
    """A header, then a row a value: numbers and texts as they are, anything else as JSON."""
    loops = list(dict.fromkeys(loop for row in run.logs(*names) for loop, _ in row.loops))
    writer = csv.writer(file)
    writer.writerow([*FIRST, *(_column(loop) for loop in loops), *LAST])
    count = 0
    for row in run.logs(*names):
        writer.writerow(_cells(row, loops))
        count += 1
    return count


def write_jsonl(run: Run, names: Sequence[str], file: IO[str]) -> int:
    """One object a line, as `flor logs --json` prints."""
    count = 0
    for row in run.logs(*names):
        file.write(json.dumps(row.as_json(), default=as_text) + "\n")
        count += 1
    return count


def _column(loop: str) -> str:
    """A loop's name, unless it would be taken for one of our own columns."""
    return f"loop.{loop}" if loop in (*FIRST, *LAST) else unformulated(loop)


def _cells(row: Row, loops: Sequence[str]) -> list[Any]:
    values, iterations = row.as_json(), dict(row.loops)
    cells = [unformulated(row.name), _text(values["value"]), *(iterations.get(loop, "") for loop in loops)]
    return [*cells, *(_text(values.get(column, "")) for column in LAST)]


def _text(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return json.dumps(value, default=as_text)
    return unformulated(value) if isinstance(value, str) else value


def unformulated(text: str) -> str:
    """Text with an apostrophe before it if a spreadsheet would take it for a formula and execute that."""
    if not text.startswith(("=", "+", "-", "@", "\t", "\r")):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text
