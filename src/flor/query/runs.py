"""Runs of a store, from Python: `flor.runs()`, `flor.run(name)`."""

from __future__ import annotations

import ast
import difflib
import os
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from flor.errors import Damaged, DamagedRecord, NoSuchRun, UsageError
from flor.model.explicit import given_name
from flor.model.records import Ended, Facts, LogRecord, Note, Record, Source
from flor.query.rows import Reading, Row, wanted
from flor.source.blocks import find_loops
from flor.store.layout import Layout
from flor.store.reader import JournalReader, read_journal
from flor.store.retention.dropped import dropped_checkpoints
from flor.store.run import RunFolder, list_runs, open_run

DEFAULT_STORE = ".flor"


def layout(store: str | Path | None = None) -> Layout:
    """The store of this folder, or the one named."""
    return Layout(Path(store or os.environ.get("FLOR_STORE") or DEFAULT_STORE).absolute())


def runs(store: str | Path | None = None) -> list[Run]:
    """All runs of the store, oldest first."""
    return [Run(folder) for folder in list_runs(layout(store))]


def run(name: str | None = None, store: str | Path | None = None) -> Run:
    """A run by its name, or the latest one."""
    place = layout(store)
    if name is not None:
        found_run = Run(open_run(place, name))
        if not found_run.folder.fragments():
            raise Damaged(f"The run {name!r} has no journal.", where=str(place.root), todo="`flor fsck` tells more.")
        return found_run
    found = list_runs(place)
    if not found:
        raise NoSuchRun("There is no run here.", where=str(place.root), todo="Make one with `flor record SCRIPT`.")
    return Run(found[-1])


@dataclass(frozen=True)
class Summary:
    """One line about a run."""

    name: str
    status: str
    started: float
    seconds: float | None
    exit: int | None
    script: str
    argv: tuple[str, ...]
    records: int | None
    checkpoints: int


class Run:
    """A recorded run, read lazily; one that is still going, or was killed, reads as far as it came."""

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        self.name = folder.name
        self.lost: list[str] = []  # what `logs` could not read when it was last asked

    def __repr__(self) -> str:
        return f"<flor run {self.name}: {self.status}>"

    @cached_property
    def _head(self) -> dict[str, Any]:
        """Facts, sources, notes and ends of all fragments; log records are passed over."""
        head: dict[str, Any] = {"facts": {}, "sources": {}, "notes": [], "ended": [], "status": [], "damage": []}
        for fragment in self.folder.fragments():
            reader = read_journal(fragment)
            for record in reader.without_logs():
                _sort_in(head, record)
            head["status"].append(reader.status)
            head["damage"] += [(fragment.name, damage) for damage in reader.damage]
        return head

    @property
    def facts(self) -> dict[str, Any]:
        """What was known when the run began."""
        return dict(self._head["facts"])

    @property
    def ended(self) -> dict[str, Any]:
        """How the first rank ended; empty if it has not, or was killed."""
        return dict(self._head["ended"][0]) if self._head["ended"] else {}

    @property
    def notes(self) -> list[Note]:
        """Everything else that was said during the run."""
        return list(self._head["notes"])

    @property
    def damage(self) -> list[tuple[str, Any]]:
        """What of its journals can't be read, by fragment."""
        return list(self._head["damage"])

    @property
    def status(self) -> str:
        """finished, failed, interrupted, recording or killed."""
        states = self._head["status"]
        if "recording" in states:
            return "recording"
        if "killed" in states:
            return "killed"
        return str(self.ended.get("status", "damaged"))

    @property
    def sources(self) -> dict[str, bytes]:
        """The project's files as they were executed."""
        return dict(self._head["sources"])

    @property
    def checkpoints(self) -> list[Note]:
        """The checkpoints that exist: announced, and not dropped since."""
        gone = self.dropped
        return [n for n in self._head["notes"] if n.kind == "checkpoint" and n.values["graph"] not in gone]

    @cached_property
    def dropped(self) -> frozenset[str]:
        """The checkpoints that `flor gc` has dropped."""
        return dropped_checkpoints(self.folder.path)

    @cached_property
    def loop_names(self) -> dict[str, str]:
        """The short name of each loop: its first target, or what the user calls it."""
        found: dict[str, str] = {}
        for file, text in self.sources.items():
            with suppress(SyntaxError, ValueError, RecursionError, MemoryError):  # it is not what was executed
                found.update((str(loop.id), loop.name) for loop in find_loops(ast.parse(text), file))
        return found | {loop: name for loop in self.ended.get("loops", {}) if (name := given_name(loop)) is not None}

    @property
    def summary(self) -> Summary:
        """One line about it."""
        facts, ended = self.facts, self.ended
        return Summary(
            name=self.name,
            status=self.status,
            started=float(facts.get("started", 0.0)),
            seconds=ended.get("seconds"),
            exit=ended.get("exit"),
            script=str(facts.get("script", "")),
            argv=tuple(facts.get("argv", ())),
            records=ended.get("records"),
            checkpoints=len(self.checkpoints),
        )

    def records(self) -> Iterator[tuple[Path, LogRecord]]:
        """The log records with the fragment that each is from, fragment by fragment, in order."""
        for fragment in self.folder.fragments():
            for record in read_journal(fragment):
                if isinstance(record, LogRecord):
                    yield fragment, record

    def logs(self, *names: str) -> Iterator[Row]:
        """Log records as rows, recorded ones and then those of replays, each once; with names only those.

        What is damaged is left out; a DamagedRecord warning says at the end how much that is, and `lost` has it all.
        """
        chosen = frozenset(names)
        self.lost = []
        for fragment in self.folder.fragments():
            reading = Reading(self.loop_names, rank=_rank(fragment))
            yield from self._rows(read_journal(fragment), reading, chosen)
        replays = [self._hindsight(replay, chosen) for replay in self.replays()]
        yield from _each_once(replays) if len(replays) > 1 else chain(*replays)
        if self.lost:
            warnings.warn(DamagedRecord(self.lost_text()), stacklevel=2)

    def _rows(self, reader: JournalReader, reading: Reading, chosen: frozenset[str]) -> Iterator[Row]:
        """The rows of one journal; what of it is damaged is noted."""
        yield from reading.rows(_logs(reader, chosen), lambda: len(reader.damage))
        place = str(reader.path.relative_to(self.folder.path))
        self.lost += [f"{place} at byte {each.offset}: {each.length:,} bytes: {each.reason}" for each in reader.damage]
        if reading.senseless:
            self.lost.append(f"{place}: the bytes of {reading.senseless} values make no value")
        if reading.torn:
            self.lost.append(f"{place}: {reading.torn} lines of text of which a part is missing are left out")

    def lost_text(self) -> str:
        """What could not be read, for people."""
        more = f" (and {len(self.lost) - 1} more)" if len(self.lost) > 1 else ""
        return f"Records of {self.name} are missing: {self.lost[0]}{more}."

    def nothing_called(self, name: str, known: Sequence[str]) -> UsageError:
        """What to raise if somebody asks for a name that was never logged."""
        near = difflib.get_close_matches(name, known, n=1)
        todo = f"Did you mean {near[0]!r}?" if near else f"What it has: {', '.join(known[:20]) or '(nothing)'}."
        return UsageError(f"{self.name} has logged nothing called {name!r}.", todo=todo)

    def replays(self) -> list[Path]:
        """The results of the replays of this run, oldest first; one for each rank."""
        return sorted((self.folder.path / "replays").glob("*/hindsight*.journal"))

    def _hindsight(self, path: Path, chosen: frozenset[str]) -> Iterator[Row]:
        reader = read_journal(path)
        names = dict(self.loop_names)
        for record in reader.without_logs():
            if isinstance(record, Note) and record.kind == "loops":
                names.update(record.values["names"])
        rank = int(path.stem.partition("-")[2] or 0)
        reading = Reading(names, origin="hindsight", replay=path.parent.name, rank=rank)
        yield from self._rows(read_journal(path), reading, chosen)

    def df(self, *names: str) -> Any:
        """The rows as a pandas or polars data frame, whichever is installed; loops are columns."""
        rows = [_flat(row) for row in self.logs(*names)]
        try:
            import pandas
        except ImportError:
            return _polars(rows)
        return pandas.DataFrame(rows)


def _each_once(replays: Sequence[Iterable[Row]]) -> Iterator[Row]:
    """What several replays have found alike is said once, by the newest of them; replays come oldest first."""
    newer: Counter[tuple[Any, ...]] = Counter()
    kept: list[list[Row]] = []
    for rows in reversed(replays):
        counts: Counter[tuple[Any, ...]] = Counter()
        kept.append([])
        for row in rows:
            key = (row.rank, row.channel, row.name, row.position, repr(row.value))
            counts[key] += 1
            if counts[key] > newer[key]:
                kept[-1].append(row)
        newer |= counts
    return chain.from_iterable(reversed(kept))


def _polars(rows: list[dict[str, Any]]) -> Any:
    try:
        import polars
    except ImportError:
        raise UsageError("A data frame needs pandas or polars.", todo="pip install pandas") from None
    return polars.DataFrame(rows, infer_schema_length=None)


def _flat(row: Row) -> dict[str, Any]:
    values = row.as_json()
    loops = values.pop("loops")
    return {"name": values.pop("name"), "value": values.pop("value"), **loops, **values}


def _sort_in(head: dict[str, Any], record: Record) -> None:
    match record:
        case Facts():
            head["facts"] = head["facts"] or record.values
        case Source():
            head["sources"].setdefault(record.path, record.text)
        case Note():
            head["notes"].append(record)
        case Ended():
            head["ended"].append(record.values)


def _logs(reader: JournalReader, chosen: frozenset[str]) -> Iterator[LogRecord]:
    return (record for record in reader if isinstance(record, LogRecord) and wanted(record, chosen))


def _rank(fragment: Path) -> int:
    rank = fragment.name.partition("-")[0]
    return int(rank) if rank.isdecimal() else 0
