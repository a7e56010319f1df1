"""Numbers as TensorBoard's scalars: what was recorded and what hindsight added as two runs beside each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from flor.errors import UsageError
from flor.query.export.events import EventFile
from flor.query.plot.series import CHANNELS, number
from flor.query.rows import Row
from flor.query.runs import Run


def write_events(run: Run, names: Sequence[str], folder: Path) -> tuple[int, int]:
    """One event file an origin, replay and rank, in folders of their own; how many were written and left out.

    The step of a value is how many of its name came before it.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not an empty folder.", todo="Name a new one with -o.")
    opened: dict[str, EventFile] = {}
    steps: Counter[tuple[str, str]] = Counter()
    written = left_out = 0
    with ExitStack() as stack:
        for row in run.logs(*names):
            value = number(row.value) if row.channel in CHANNELS else None
            if value is None:
                left_out += 1
                continue
            place = _place(row)
            if place not in opened:
                opened[place] = stack.enter_context(EventFile.create(folder / place, row.time))
            opened[place].scalar(row.name, value, steps[place, row.name], row.time)
            steps[place, row.name] += 1
            written += 1
    return written, left_out


def _place(row: Row) -> str:
    replay = f"-{row.replay.partition('-')[2]}" if row.replay else ""
    return f"{row.origin}{replay}" + (f"-rank{row.rank}" if row.rank else "")
