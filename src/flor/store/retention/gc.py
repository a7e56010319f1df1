"""Retention carried out: what ends is said durably first and deleted afterwards, so a kill in between harms nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from flor.errors import Damaged, StoreBusy, StoreError, StoreUnwritable
from flor.store import files, locks
from flor.store.layout import Layout, written
from flor.store.packreader import Pack, read_pack
from flor.store.packs import PackEntry, write_pack
from flor.store.retention import trash
from flor.store.retention.dropped import drop_checkpoints
from flor.store.retention.holdings import read_holdings, sizes
from flor.store.retention.holds import alone_with
from flor.store.retention.liveness import living_jobs, why_in_use
from flor.store.retention.rules import Rules, Verdict, decide
from flor.store.run import RunFolder, open_run

ABANDONED = 3600.0  # seconds after which a folder without a journal, or a half-written file, has nobody left
LOCK = "gc.lock"


@dataclass(frozen=True, slots=True)
class Retention:
    """A verdict on every run, and what else is to go; `done` if it has gone. `troubles` are what could not be done."""

    verdicts: tuple[Verdict, ...]
    leftovers: tuple[Path, ...]
    leftover_bytes: int
    size: int
    done: bool = False
    troubles: tuple[str, ...] = ()

    @property
    def frees(self) -> int:
        """Bytes."""
        return self.leftover_bytes + sum(verdict.frees for verdict in self.verdicts)


def plan_retention(layout: Layout, rules: Rules, now: float) -> Retention:
    """What the rules would do; changes nothing."""
    layout.check()
    for name in rules.only:
        open_run(layout, name)
    try:
        return _plan(layout, rules, now)
    except OSError as error:
        raise StoreError(f"The store can't be read: {error.strerror}.", where=str(error.filename)) from error


def _plan(layout: Layout, rules: Rules, now: float) -> Retention:
    verdicts = tuple(decide(read_holdings(layout, now), rules, now))
    leftovers = tuple(_leftovers(layout, now))
    weight = round(sum(size for path in leftovers for size in _weight(path)))
    return Retention(verdicts, leftovers, weight, round(sum(size for _, size in sizes(layout.root))))


def carry_out(layout: Layout, rules: Rules, now: float) -> Retention:
    """Do what the rules say, as the store is now; a run that a process is at work on is left as it is."""
    with _alone(layout):
        plan = plan_retention(layout, rules, now)
        troubles: list[str] = []
        for verdict in plan.verdicts:
            try:
                _apply(layout, verdict, now)
            except (StoreUnwritable, Damaged) as error:  # one run must not keep the others
                troubles.append(f"{verdict.holding.name}: {error.what}")
        _tidy(layout, plan.leftovers)
        trash.empty(layout)
    return Retention(plan.verdicts, plan.leftovers, plan.leftover_bytes, plan.size, True, tuple(troubles))


@contextmanager
def _alone(layout: Layout) -> Iterator[None]:
    """One sweep of a store at a time; the lock ends with its process."""
    if not layout.format.exists():
        yield  # there is no store: nothing will be found
        return
    path = layout.root / LOCK
    fd = written(path, lambda: os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, files.FILE_MODE))
    try:
        if not locks.try_lock(fd):
            raise StoreBusy(
                "Another `flor gc` is at work, or the filesystem has no locks.",
                where=str(path),
                todo="Try again when it has ended.",
            )
        yield
    finally:
        os.close(fd)


def _apply(layout: Layout, verdict: Verdict, now: float) -> None:
    holding = verdict.holding
    if not (verdict.removed or verdict.sweep):
        return
    if why_in_use(RunFolder(holding.name, holding.path), living_jobs(layout), now):  # since it was looked at
        return
    with alone_with(holding.path) as free:
        if free:
            _change(layout, verdict)


def _change(layout: Layout, verdict: Verdict) -> None:
    holding = verdict.holding
    if verdict.removed:
        trash.discard(layout, holding.path)
        return
    if verdict.sweep.dropped:
        drop_checkpoints(holding.path, verdict.sweep.dropped)  # the guarantee: before the first byte goes
    _delete(holding.path, verdict)
    for name, needed in verdict.sweep.rewritten.items():  # last: it needs room, which the deletions made
        _rewrite(holding.path / "packs" / name, needed)


def _delete(run: Path, verdict: Verdict) -> None:
    packs = run / "packs"
    for path in (*(packs / name for name in verdict.sweep.deleted), *verdict.sweep.scraps):
        written(path, lambda path=path: path.unlink(missing_ok=True))  # type: ignore[misc]


def _rewrite(path: Path, needed: frozenset[str]) -> None:
    """Put a pack with only these entries in place of one with more; readers that have the old one open keep it."""
    with read_pack(path) as pack:
        bad = set(pack.verify()) & needed
        if bad:
            raise Damaged(f"{path.name} is damaged and stays as it is.", where=str(path))
        entries = [_entry(pack, name) for name in pack.names if name in needed]
        write_pack(path, entries, pack.metadata)
        entries.clear()


def _entry(pack: Pack, name: str) -> PackEntry:
    tensor = pack[name]
    return PackEntry(name, tensor.dtype, tensor.shape, tensor.data)


def _leftovers(layout: Layout, now: float) -> Iterator[Path]:
    """What nobody will come back for: trash, half-written files, folders of runs that never began."""
    yield from trash.contents(layout)
    candidates = [path for path in _entries(layout.root) if path.suffix == ".tmp"]
    candidates += [path for path in _entries(layout.runs) if _never_began(path)]
    for path in candidates:
        with suppress(FileNotFoundError):
            if now - path.lstat().st_mtime > ABANDONED:
                yield path


def _never_began(path: Path) -> bool:
    """A claimed name and an empty folder for packs, and nothing else in it."""
    if path.is_symlink() or not path.is_dir():
        return False
    return [each.name for each in _entries(path)] in ([], ["packs"]) and not _entries(path / "packs")


def _tidy(layout: Layout, leftovers: tuple[Path, ...]) -> None:
    for path in leftovers:
        if path.parent == layout.runs:
            with suppress(OSError):  # it is not empty any more: somebody began after all
                (path / "packs").rmdir()
                path.rmdir()
        elif path.suffix == ".tmp" and path.parent == layout.root:
            with suppress(OSError):
                path.unlink()


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _weight(path: Path) -> Iterator[float]:
    if path.is_dir() and not path.is_symlink():
        yield from (size for _, size in sizes(path))
    else:
        with suppress(FileNotFoundError):
            yield path.lstat().st_size
