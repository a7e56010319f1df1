"""A run on disk: a folder with a journal for each of its processes."""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass, field
from pathlib import Path

from flor.errors import BadName, NameTaken, NoSuchRun, StoreUnwritable
from flor.store import files, groups
from flor.store.frames import OPENING_SIZE, parse_opening
from flor.store.journal import LIVE, SEALED, JournalWriter, OnFailure
from flor.store.layout import Layout, checked_name, written
from flor.store.names import propose

_SHORT_TRIES = 16
_LONG_TRIES = 1000
_SAME_PID_TRIES = 1000


@dataclass(frozen=True, slots=True)
class RunFolder:
    """One run's folder; `membership` keeps the group of processes that share it alive."""

    name: str
    path: Path
    membership: groups.Membership | None = field(default=None, compare=False, repr=False)

    @property
    def packs(self) -> Path:
        """The folder of this run's packs."""
        return self.path / "packs"

    def fragment(self, rank: int, pid: int, on_failure: OnFailure | None = None) -> JournalWriter:
        """A new journal for a process, `<rank>-<pid>`; a process id that came up before gets a number behind it."""
        return written(self.path, lambda: self._fragment(rank, pid, on_failure))

    def _fragment(self, rank: int, pid: int, on_failure: OnFailure | None) -> JournalWriter:
        for turn in range(_SAME_PID_TRIES):
            path = self.path / f"{rank}-{pid}{f'-{turn}' if turn else ''}{LIVE}"
            try:
                writer = JournalWriter.create(path, on_failure)
            except FileExistsError:
                continue
            if not path.with_suffix(SEALED).exists():  # asked while we hold the live name: nobody can seal over it
                return writer
            writer.close()
            path.unlink()
        raise StoreUnwritable(f"The run has {_SAME_PID_TRIES} journals of process {pid}.", where=str(self.path))

    def fragments(self) -> list[Path]:
        """The journals of this run, by rank."""
        found = [path for path in self.path.iterdir() if path.suffix in (LIVE, SEALED) and path.is_file()]
        return sorted(found, key=_rank)

    def created(self) -> int:
        """When its first journal was begun, in nanoseconds of the clock; 0 if none can tell."""
        return min((at for path in self.fragments() if (at := _created(path))), default=0)

    def leave(self) -> None:
        """Leave the group with which this run is shared."""
        if self.membership is not None:
            self.membership.leave()


def create_run(layout: Layout, name: str | None = None) -> RunFolder:
    """A new run under the given name, or under one that is free."""
    layout.prepare()
    return written(layout.runs, lambda: _claim_named(layout, name) if name is not None else _claim_free(layout))


def join_or_create_run(layout: Layout, name: str | None, group_key: str, unique: bool = False) -> RunFolder:
    """The run of the job that this process belongs to, made by whichever of its processes comes first.

    A group lives as long as one of its processes: a later job with the same key gets a run of its own. With a key
    that is `unique` there is no later job, and a rank that comes when all others have ended still belongs to it.
    """
    layout.prepare()

    def agree() -> tuple[str, groups.Membership]:
        def found() -> str:
            return create_run(layout, name).name

        return groups.join(layout.groups, group_key, found, lambda known: _is_run(layout, known), unique)

    agreed, membership = written(layout.groups, agree)
    return RunFolder(agreed, layout.run(agreed), membership)


def list_runs(layout: Layout) -> list[RunFolder]:
    """Every run with at least one journal, oldest first; an empty list where there is no store."""
    layout.check()
    found = [RunFolder(name, layout.runs / name) for name in _names(layout)]
    dated = [(run.created(), run.name, run) for run in found if run.fragments()]
    return [run for *_, run in sorted(dated, key=lambda row: row[:2])]


def open_run(layout: Layout, name: str) -> RunFolder:
    """The run of that name; NoSuchRun, with the nearest name, if there is none."""
    layout.check()
    path = layout.run(name)
    if path.is_dir():
        return RunFolder(name, path)
    near = difflib.get_close_matches(name, _names(layout), n=1)
    raise NoSuchRun(
        f"There is no run called {name!r}.",
        where=str(layout.root),
        todo=f"Did you mean {near[0]!r}?" if near else "`flor runs` lists them.",
    )


def _claim_named(layout: Layout, name: str) -> RunFolder:
    path = layout.run(name)
    try:
        return _claim(path)
    except FileExistsError:
        raise NameTaken(
            f"There is a run called {name!r} already.", where=str(path), todo="Choose another --name, or none."
        ) from None


def _claim_free(layout: Layout) -> RunFolder:
    for attempt in range(_SHORT_TRIES + _LONG_TRIES):
        try:
            return _claim(layout.run(propose(numbered=attempt >= _SHORT_TRIES)))
        except FileExistsError:
            continue
    raise StoreUnwritable("No free name for a run was found.", where=str(layout.runs), todo="Give one with --name.")


def _claim(path: Path) -> RunFolder:
    path.mkdir(files.FOLDER_MODE)  # the guarantee: of all who try this name, one succeeds
    (path / "packs").mkdir(files.FOLDER_MODE)
    files.sync_folder(path.parent)
    return RunFolder(path.name, path)


def _names(layout: Layout) -> list[str]:
    try:
        entries = list(os.scandir(layout.runs))
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(entry.name for entry in entries if entry.is_dir() and _is_name(entry.name))


def _is_name(name: str) -> bool:
    try:
        return bool(checked_name(name))
    except BadName:
        return False


def _is_run(layout: Layout, name: str) -> bool:
    return _is_name(name) and layout.run(name).is_dir()


def _rank(path: Path) -> tuple[int, str]:
    rank = path.name.partition("-")[0]
    return (int(rank) if rank.isdecimal() else 1 << 31, path.name)


def _created(path: Path) -> int:
    try:
        opening = parse_opening(files.read_regular(path, OPENING_SIZE))
    except OSError:
        return 0
    return opening.created if opening is not None else 0
