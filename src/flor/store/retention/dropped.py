"""Which announced checkpoints no longer exist: said durably before the first of their bytes goes."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

from flor.errors import StoreUnwritable
from flor.model.records import Ended, Note
from flor.store import files
from flor.store.journal import LIVE, SEALED, JournalWriter
from flor.store.layout import written
from flor.store.reader import read_journal

FOLDER, NAME = "retention", "dropped"


def dropped_checkpoints(run: Path) -> frozenset[str]:
    """The `graph` of every checkpoint of a run that was dropped since it was announced."""
    path = run / FOLDER / f"{NAME}{SEALED}"
    if not path.exists():
        return frozenset()
    notes = [record for record in read_journal(path) if isinstance(record, Note) and record.kind == NAME]
    return frozenset(str(graph) for note in notes for graph in note.values.get("checkpoints", ()))


def drop_checkpoints(run: Path, graphs: Iterable[str]) -> None:
    """Let these checkpoints end, with those dropped before; the caller is the only one who does so."""
    everything = sorted(dropped_checkpoints(run) | frozenset(graphs))
    written(run, lambda: _write(run, everything))


def _write(run: Path, graphs: list[str]) -> None:
    folder = run / FOLDER
    folder.mkdir(files.FOLDER_MODE, exist_ok=True)
    files.sync_folder(run)
    live = folder / f"{NAME}{LIVE}"
    live.unlink(missing_ok=True)  # of a sweep that was killed before it had dropped anything
    journal = JournalWriter.create(live)
    journal.append(Note(NAME, {"checkpoints": graphs, "time": time.time()}))
    if not journal.seal(Ended({"checkpoints": len(graphs)})):  # the guarantee: it takes the old one's place whole
        reason = journal.failed.strerror if journal.failed else "it could not be sealed"
        raise StoreUnwritable(f"The checkpoints to drop can't be noted: {reason}.", where=str(live))
