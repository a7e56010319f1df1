"""A rehearsal of a script's beginning in a namespace: which files would be changed by code that is not Python's."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from flor.launch.conditions import command, environment, silent_for_children
from flor.launch.wall.changed import changed
from flor.launch.wall.choice import Wall, best_wall
from flor.launch.wall.layer import delete
from flor.query.runs import Run
from flor.replay.history import History
from flor.resume.order import Placing, ResumeOrder
from flor.store.layout import Layout
from flor.store.retention.holds import hold

FOLDER = "rehearsals"  # of the store
REPORT = "report.json"  # what a rehearsal found


def rehearsed(run: Run, order: ResumeOrder, wall: str | None) -> ResumeOrder:
    """The order with the files in it that are to be copied first; this process ends if the script fails on the way."""
    with _folder(Layout(Path(order.store))) as folder:
        if best_wall(folder, wall) is not Wall.OVERLAY:
            return replace(order, kept=tuple(written(run)), placing=Placing.LEFT)
        return _tried(run, order, folder)


def written(run: Run) -> list[str]:
    """Every file that the run is known to have written and that is there."""
    history = History.of(run)
    found = {path for path, change in history.made.items() if change != "mkdir"}
    found |= {path for checkpoint in history.checkpoints.values() for path in checkpoint.files}
    return sorted(path for path in found if os.path.isfile(path) or os.path.islink(path))


def _tried(run: Run, order: ResumeOrder, folder: Path) -> ResumeOrder:
    """Rehearse until the checkpoint is reached, with earlier checkpoints and other files where that is of use."""
    number = 0
    while True:
        number += 1
        place = folder / str(number)
        code, text = _rehearse(run, order, place)
        report = _read(place / REPORT)
        if "without" in report:
            sys.stderr.write(text)
            order = replace(order, without=(*order.without, report["without"]))
        elif report.get("arrived"):
            unseen = changed(place / "files", without=Path(order.store))
            kept = sorted({*unseen, *History.of(run).unseen})
            return replace(order, kept=tuple(path for path in kept if os.path.lexists(path)))
        elif order.placing is Placing.CHECKPOINT and History.of(run).unseen:
            order = replace(order, placing=Placing.BEGINNING)
        else:
            sys.stderr.write(text)
            sys.exit(code or 1)


def _rehearse(run: Run, order: ResumeOrder, place: Path) -> tuple[int, str]:
    """One rehearsal: its exit code and what it said."""
    place.mkdir()
    with tempfile.TemporaryFile(dir=place) as stderr:
        process = subprocess.Popen(
            command("flor.resume.rehearsal", order.text(), str(place), str(os.getpid())),
            cwd=run.facts["cwd"],
            env=silent_for_children(environment(run)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            start_new_session=True,
        )
        try:
            code = process.wait()
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)  # and what the script has started
            process.wait()
        stderr.seek(0)
        return code, stderr.read().decode(errors="replace")


def _read(path: Path) -> dict[str, str]:
    try:
        values: dict[str, str] = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return values


@contextmanager
def _folder(layout: Layout) -> Iterator[Path]:
    """A folder of the store for as long as it takes."""
    parent = layout.root / FOLDER
    parent.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=parent))
    try:
        with hold(folder):
            yield folder
    finally:
        for inner in folder.iterdir():
            delete(inner)
        delete(folder)
        with suppress(OSError):
            parent.rmdir()
