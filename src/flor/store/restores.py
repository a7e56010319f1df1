"""How long restores took beside what the checkpoints had cost: a line each, from which later recordings learn."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

from flor.store import files
from flor.store.layout import Layout

LAST = 200  # lines that count
TAIL = 1 << 14  # bytes in which they are looked for
LOW, HIGH = 0.1, 100.0  # what a ratio can be believed to be


def note_restore(layout: Layout, *, restore: float, materialize: float) -> None:
    """Add a line; a store that can't be written is left as it is."""
    line = json.dumps({"restore": round(restore, 6), "materialize": round(materialize, 6)}).encode() + b"\n"
    with suppress(OSError):
        fd = os.open(layout.restores, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, files.FILE_MODE)
        try:
            os.write(fd, line)
        finally:
            os.close(fd)


def restore_ratio(layout: Layout) -> float | None:
    """The paper's c: seconds of restoring for each second of materializing; None if no replay has told yet."""
    rows = [row for row in map(_row, _tail(layout.restores)) if row is not None]
    restored, materialized = (sum(values) for values in zip(*rows, strict=True)) if rows else (0.0, 0.0)
    return min(HIGH, max(LOW, restored / materialized)) if materialized > 0 else None


def _tail(path: Path) -> list[bytes]:
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL))
            return file.read().splitlines()[-LAST:]
    except OSError:
        return []


def _row(line: bytes) -> tuple[float, float] | None:
    try:
        values = json.loads(line)
        row = float(values["restore"]), float(values["materialize"])
    except (ValueError, KeyError, TypeError):
        return None  # cut by the tail, or not ours
    return row if min(row) >= 0 and max(row) < float("inf") else None
