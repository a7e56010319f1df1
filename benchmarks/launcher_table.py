"""The table of docs/launcher.md: the small scripts of tests/launch under flor and under other tools that run a script.

    python benchmarks/launcher_table.py            # prints the table
    python benchmarks/launcher_table.py --write    # puts it into docs/launcher.md

Needs coverage and viztracer. A cell says `same` if stdout, stderr and exit code are those of `python SCRIPT`.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests" / "launch"
PAGE = ROOT / "docs" / "launcher.md"
BEGIN, END = "<!-- table -->", "<!-- end of table -->"
FILES = ("launcher", "exits", "tracebacks", "language", "streams", "introspection", "processes", "torch")

sys.path.insert(0, str(TESTS))
bothways: Any = importlib.import_module("bothways")


def by_coverage(row: Any) -> list[str]:
    """`coverage run SCRIPT`."""
    return [sys.executable, *row.python, "-m", "coverage", "run", "--data-file=.coverage", *row.target, *row.args]


def by_viztracer(row: Any) -> list[str]:
    """`viztracer SCRIPT`, told to say nothing itself."""
    quiet = ["--quiet", "--output_file", "viztracer.json"]
    target = row.target if row.target[0].startswith("-m") else ("--", *row.target)
    return [sys.executable, *row.python, "-m", "viztracer", *quiet, *target, *row.args]


def by_cprofile(row: Any) -> list[str]:
    """`python -m cProfile SCRIPT`, its report put into a file."""
    return [sys.executable, *row.python, "-m", "cProfile", "-o", "profile.out", *row.target, *row.args]


TOOLS = {
    "flor record": bothways.by_flor,
    "coverage run": by_coverage,
    "viztracer": by_viztracer,
    "cProfile": by_cprofile,
}


def rows() -> Iterator[tuple[str, Any]]:
    """Each row that has words for the table, with the file of its test."""
    for file in FILES:
        for row in importlib.import_module(f"test_{file}").ROWS:
            if row.table:
                yield f"test_{file}", row


def cell(row: Any, plain: Any, launcher: Any, folder: Path) -> str:
    """What differs under one tool."""
    try:
        seen = bothways.see(row, folder, launcher)
    except subprocess.TimeoutExpired:
        return "does not end"
    parts = [f"exit {seen.code}, not {plain.code}"] if seen.code != plain.code else []
    parts += [name for name in ("stdout", "stderr") if getattr(seen, name) != getattr(plain, name)]
    return ", ".join(parts) or "same"


def lines() -> Iterator[str]:
    """The table, line by line."""
    yield "| behaviour | python | " + " | ".join(TOOLS) + " | test |"
    yield "|---" * (len(TOOLS) + 3) + "|"
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "work"
        for file, row in rows():
            plain = bothways.see(row, folder, bothways.by_python)
            cells = [cell(row, plain, launcher, folder) for launcher in TOOLS.values()]
            yield f"| {row.table} | exit {plain.code} | " + " | ".join(cells) + f" | `{file}[{row}]` |"


def versions() -> str:
    """What was compared."""
    python = ".".join(map(str, sys.version_info[:3]))
    return f"Python {python}, coverage {version('coverage')}, viztracer {version('viztracer')}."


def main() -> None:
    """Print the table, or put it into the page."""
    table = []
    for line in lines():
        print(line, flush=True)
        table.append(line)
    if "--write" in sys.argv:
        text = PAGE.read_text()
        head, tail = text.partition(BEGIN)[0], text.partition(END)[2]
        PAGE.write_text("\n".join([head + BEGIN, versions(), "", *table, END]) + tail)


if __name__ == "__main__":
    main()
