"""What an attempt to resume left behind when it was killed before its checkpoint, put right by the next one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from flor.errors import FlorError
from flor.launch.wall.layer import delete
from flor.query.runs import Run
from flor.resume.keeping import Keeping, copy, same, unsettled
from flor.resume.rehearsing import FOLDER
from flor.store.layout import Layout
from flor.store.retention.holds import alone_with
from flor.store.run import open_run


def recover(layout: Layout, say: Callable[[str], None]) -> None:
    """Put the files back that such attempts had copied, and remove the attempts."""
    for folder in _folders(layout.root / FOLDER):
        with alone_with(folder) as is_free:
            if is_free:
                delete(folder)
    for keeping in unsettled(layout.runs):
        try:
            if Run(open_run(layout, keeping.run.name)).status != "recording":
                _put_right(keeping, layout, say)
        except FlorError:
            continue


def _folders(folder: Path) -> Iterable[Path]:
    return [path for path in folder.iterdir() if path.is_dir()] if folder.is_dir() else []


def _put_right(keeping: Keeping, layout: Layout, say: Callable[[str], None]) -> None:
    """The files as they were before the attempt; what was in their place is kept with the run that was resumed."""
    damaged = [path for path in keeping.paths if _differs(keeping, path)]
    place = layout.run(keeping.of) / "aside" / keeping.run.name
    for path in damaged:
        if os.path.lexists(path):
            copy(path, Path(f"{place}{path}"))
    keeping.abandon()
    if damaged:
        done = (
            "1 file is put back as it was" if len(damaged) == 1 else f"{len(damaged)} files are put back as they were"
        )
        say(f"{keeping.run.name} was stopped before its checkpoint: {done}")
    if not (keeping.run / "aside").exists():
        shutil.rmtree(keeping.run, ignore_errors=True)


def _differs(keeping: Keeping, path: str) -> bool:
    kept = keeping.copy_of(path)
    return os.path.lexists(kept) and not same(kept, Path(path))
