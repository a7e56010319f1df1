"""Export: rows of a run in the format that was asked for, to a file or to stdout."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from flor.errors import StoreUnwritable, UsageError
from flor.query.export import tables, tensorboard
from flor.query.runs import Run

TABLES: dict[str, Callable[[Run, Sequence[str], IO[str]], int]] = {
    "csv": tables.write_csv,
    "jsonl": tables.write_jsonl,
}
FORMATS = (*TABLES, "tensorboard")
_ENDINGS = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl"}


@dataclass(frozen=True, slots=True)
class Exported:
    """What came of it; `left_out` counts values that the format has no place for."""

    path: Path | None
    rows: int
    left_out: int = 0


def export(run: Run, names: Sequence[str], path: Path | None, format_name: str | None) -> Exported:
    """Write the rows of these names, or all; without a path, to stdout."""
    chosen = format_name or format_of(path)
    try:
        if chosen == "tensorboard":
            if path is None:
                raise UsageError("Event files need a folder.", todo="Name one with -o.")
            return Exported(path, *tensorboard.write_events(run, names, path))
        if path is None:
            return Exported(None, TABLES[chosen](run, names, sys.stdout))
        return Exported(path, _to_file(run, names, path, TABLES[chosen]))
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StoreUnwritable(f"The export can't be written: {error.strerror}.", where=str(path)) from error


def format_of(path: Path | None) -> str:
    """The format that a file's ending stands for; CSV on stdout."""
    if path is None:
        return "csv"
    found = _ENDINGS.get(path.suffix.lower())
    if found is None:
        raise UsageError(f"{path} does not say in which format.", todo=f"Use --format {'|'.join(FORMATS)}.")
    return found


def _to_file(run: Run, names: Sequence[str], path: Path, write: Callable[[Run, Sequence[str], IO[str]], int]) -> int:
    """The file appears whole, or stays as it was."""
    scratch = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with open(scratch, "x", encoding="utf-8", errors="surrogateescape", newline="") as file:
            count = write(run, names, file)
        scratch.replace(path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
    return count
