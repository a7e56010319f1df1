"""The list of runs, kept in SQLite so that it need not be read from the journals each time; only a cache."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path

from flor.errors import StoreError
from flor.model.runs import RunSummary
from flor.store import files
from flor.store.digest import UNREADABLE, FragmentDigest, digest_journal
from flor.store.layout import Layout
from flor.store.reader import status_of
from flor.store.run import RunFolder, list_runs

SCHEMA = 1
_TABLE = "CREATE TABLE fragments (path TEXT PRIMARY KEY, size INTEGER, mtime INTEGER, digest TEXT) WITHOUT ROWID"
_PATIENCE = 5.0
_UNUSABLE = (sqlite3.Error, OSError, ValueError, TypeError, KeyError)


class Index:
    """Answers from the cache where a journal's size and time are as they were, and from the journal otherwise."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def runs(self) -> list[RunSummary]:
        """Every run of the store, oldest first."""
        if self._layout.index.is_symlink() or (self._layout.index.exists() and not self._layout.index.is_file()):
            return self._answer(None)  # nothing is written through a link, or into a pipe
        try:
            return self._answer(self._layout.index)
        except _UNUSABLE:
            with suppress(OSError):
                self._layout.index.unlink(missing_ok=True)
        try:
            return self._answer(self._layout.index)
        except _UNUSABLE:
            return self._answer(None)  # a folder that can't be written: list it all the same

    def latest(self) -> RunSummary | None:
        """The run that began last."""
        return max(self.runs(), key=lambda run: run.started or 0.0, default=None)

    def _answer(self, path: Path | None) -> list[RunSummary]:
        runs = list_runs(self._layout)
        if not runs:
            return []
        with _opened(path) as table:
            return [self._summary(table, run) for run in runs]

    def _summary(self, table: sqlite3.Connection, run: RunFolder) -> RunSummary:
        paths = run.fragments()
        digests = [self._digest(table, path) for path in paths]
        return _merge(run.name, digests, sum(_size(path) for path in paths))

    def _digest(self, table: sqlite3.Connection, path: Path) -> FragmentDigest:
        key = str(path.relative_to(self._layout.root))
        stat = path.stat()
        row = table.execute("SELECT size, mtime, digest FROM fragments WHERE path = ?", (key,)).fetchone()
        if row is not None and row[:2] == (stat.st_size, stat.st_mtime_ns):
            return replace(_loads(row[2]), status=status_of(path))  # a process may end without a byte written
        try:
            digest = digest_journal(path)
        except StoreError:
            return UNREADABLE  # one journal of a later version does not hide the rest
        text = json.dumps(asdict(digest))
        table.execute("REPLACE INTO fragments VALUES (?, ?, ?, ?)", (key, stat.st_size, stat.st_mtime_ns, text))
        return digest


@contextmanager
def _opened(path: Path | None) -> Iterator[sqlite3.Connection]:
    if path is not None:
        path.touch(files.FILE_MODE)
    with closing(sqlite3.connect(path or ":memory:", timeout=_PATIENCE)) as table:
        version = table.execute("PRAGMA user_version").fetchone()[0]
        if version != SCHEMA:
            table.execute("DROP TABLE IF EXISTS fragments")
            table.execute(_TABLE)
            table.execute(f"PRAGMA user_version = {SCHEMA}")
        with table:
            yield table


def _loads(text: str) -> FragmentDigest:
    values = json.loads(text)
    return FragmentDigest(**{**values, "argv": tuple(values["argv"])})


def _merge(name: str, digests: list[FragmentDigest], size: int) -> RunSummary:
    first = digests[0]
    started = min((each.started for each in digests if each.started is not None), default=None)
    return RunSummary(
        name=name,
        status=_status(digests),
        started=started,
        seconds=max((each.seconds for each in digests if each.seconds is not None), default=None),
        exit=next((each.exit for each in digests if each.exit is not None), None),
        script=first.script,
        argv=first.argv,
        fragments=len(digests),
        logs=sum(each.logs for each in digests),
        bytes=size,
        damage=sum(each.damage for each in digests),
    )


def _status(digests: list[FragmentDigest]) -> str:
    """The least finished of its journals decides; one that has its end was not killed, only not renamed."""
    if any(each.status == "recording" for each in digests):
        return "recording"
    return "killed" if any(each.status == "killed" and not each.ended for each in digests) else "sealed"


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
