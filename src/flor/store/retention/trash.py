"""Runs on their way out: a run leaves the list by one rename, so that it is there whole or not at all."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from flor.store import files
from flor.store.layout import Layout, written

NAME = "trash"


def discard(layout: Layout, run: Path) -> None:
    """Take a run out of the store; its bytes go when the trash is emptied."""
    written(run, lambda: _move(layout, run))


def empty(layout: Layout) -> None:
    """Delete what was discarded, by this sweep or by one that was killed."""
    folder = layout.root / NAME
    if folder.is_dir() and not folder.is_symlink():
        written(folder, lambda: shutil.rmtree(folder))


def contents(layout: Layout) -> list[Path]:
    """What an earlier sweep left."""
    folder = layout.root / NAME
    return sorted(folder.iterdir()) if folder.is_dir() and not folder.is_symlink() else []


def _move(layout: Layout, run: Path) -> None:
    folder = layout.root / NAME
    folder.mkdir(files.FOLDER_MODE, exist_ok=True)
    run.rename(folder / f"{run.name}.{os.urandom(4).hex()}")  # the guarantee: no reader ever finds half a run
    files.sync_folder(layout.runs)
