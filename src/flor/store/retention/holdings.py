"""What a run takes on disk, and what of it is in use."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from flor.errors import Damaged
from flor.store.layout import Layout
from flor.store.packreader import read_pack
from flor.store.retention.dropped import dropped_checkpoints
from flor.store.retention.liveness import living_jobs, why_in_use
from flor.store.retention.references import PACK, HeldCheckpoint, References, read_references
from flor.store.run import RunFolder, list_runs


@dataclass(frozen=True, slots=True)
class HeldPack:
    """A pack on disk; `entries` has the size of each, or is None if its header can't be read.

    `links` are the runs that have this same file, as a resumed run does: deleting one of several frees nothing.
    """

    size: int
    entries: Mapping[str, int] | None
    links: int = 1


@dataclass(frozen=True, slots=True)
class Holding:
    """One run as retention sees it; `alone` is why it must not be touched, empty if it may."""

    name: str
    path: Path
    created: float
    size: int
    packs: Mapping[str, HeldPack]
    references: References
    dropped: frozenset[str]
    scraps: Mapping[Path, int] = field(default_factory=dict)
    alone: str = ""

    @property
    def own_size(self) -> int:
        """The bytes that would be free without this run."""
        return self.size - round(sum(p.size / p.links for p in self.packs.values() if p.links > 1))

    @property
    def checkpoints(self) -> tuple[HeldCheckpoint, ...]:
        """Those that exist, in the order in which they were announced."""
        return tuple(each for each in self.references.checkpoints if each.graph not in self.dropped)


def read_holdings(layout: Layout, now: float) -> list[Holding]:
    """Every run with a journal, oldest first."""
    jobs = living_jobs(layout)
    found = [_holding(run, jobs, now) for run in list_runs(layout)]
    return sorted(found, key=lambda holding: (holding.created, holding.name))


def _holding(run: RunFolder, jobs: frozenset[str], now: float) -> Holding:
    created = run.created() / 1e9  # asked once: the order of the runs decides which of them go
    undated = "" if created else "it can't be read when it was made"
    alone = why_in_use(run, jobs, now) or _why_linked(run) or undated
    return Holding(
        name=run.name,
        path=run.path,
        created=created,
        size=round(sum(size for _, size in sizes(run.path))),
        packs={} if alone else dict(_packs(run.packs)),
        references=read_references(run),
        dropped=dropped_checkpoints(run.path),
        scraps={} if alone else dict(_scraps(run.path)),
        alone=alone,
    )


def _why_linked(run: RunFolder) -> str:
    """Bytes behind a link were put there by the user, who knows what else is there."""
    return "it is behind a link" if run.path.is_symlink() or run.packs.is_symlink() else ""


def _packs(folder: Path) -> Iterator[tuple[str, HeldPack]]:
    for path in sorted(folder.glob(f"*{PACK}")):
        if path.is_file() and not path.is_symlink():
            stat = path.stat()
            yield path.name, HeldPack(stat.st_size, _entries(path), stat.st_nlink)


def _entries(path: Path) -> dict[str, int] | None:
    try:
        with read_pack(path) as pack:
            return {name: len(pack[name].data) for name in pack.names}
    except Damaged:
        return None


def _scraps(run: Path) -> Iterator[tuple[Path, int]]:
    """Files that a process left when it was killed, and what workers wrote of replays whose results are kept."""
    for path, size in sizes(run):
        if path.suffix == ".tmp" and path.parent in (run, run / "packs"):
            yield path, round(size)
    for result in (run / "replays").glob("*/hindsight.journal"):
        for path in (*result.parent.glob("w*.journal"), *result.parent.glob("w*.live"), *result.parent.glob("w*.json")):
            yield path, path.stat().st_size


def sizes(folder: Path) -> Iterator[tuple[Path, float]]:
    """Every file below a folder with its size; of one with several names, each gets its share."""
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            try:
                stat = path.lstat()
            except FileNotFoundError:  # a process is at work there
                continue
            yield path, stat.st_size / stat.st_nlink
