"""Checks every byte of a store against its checksums; executes and changes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from flor.errors import BadName, FlorError
from flor.store.journal import LIVE, SEALED
from flor.store.layout import Layout, checked_name
from flor.store.packreader import read_pack
from flor.store.reader import read_journal
from flor.store.retention import dropped, trash
from flor.store.retention.references import read_references
from flor.store.run import RunFolder

Severity = Literal["damage", "note"]
_DIGEST = re.compile("[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it should be: `damage` if something that was written is lost, `note` if nothing is."""

    path: Path
    severity: Severity
    what: str
    offset: int | None = None


def check_store(layout: Layout) -> list[Finding]:
    """All findings, run by run; an empty list means that every byte is as it was written."""
    return list(_store(layout))


def _store(layout: Layout) -> Iterator[Finding]:
    if not layout.root.is_dir():
        yield Finding(layout.root, "note", "there is no store here")
        return
    try:
        layout.check()
    except FlorError as error:
        yield Finding(layout.format, "damage", error.what)
        return
    if not layout.format.exists():
        yield Finding(layout.format, "note", "the store was not finished being made; the next recording does that")
    for path in _entries(layout.root):
        yield from _leftover(path)
    for path in trash.contents(layout):
        yield Finding(path, "note", "a run that was being deleted; `flor gc --yes` goes on with it")
    for path in _entries(layout.runs):
        yield from _run(path)


def _run(path: Path) -> Iterator[Finding]:
    try:
        checked_name(path.name)
    except BadName:
        yield Finding(path, "note", "no run can be called that; it is not listed")
        return
    if not path.is_dir():
        yield Finding(path, "note", "not a folder; it is not listed")
        return
    yield from _journals(path)
    for journal in _entries(path / dropped.FOLDER):
        yield from _journal(journal)
    for replay in _entries(path / "replays"):
        for journal in _entries(replay):
            yield from _journal(journal) if journal.suffix in (LIVE, SEALED) else _leftover(journal)
    for pack in _entries(path / "packs"):
        yield from _pack(pack)
    yield from _checkpoints(RunFolder(path.name, path))


def _journals(path: Path) -> Iterator[Finding]:
    journals = [each for each in _entries(path) if each.suffix in (LIVE, SEALED)]
    if not journals and _entries(path / "packs"):
        yield Finding(path, "damage", "a run with checkpoints and without a journal")
    elif not journals:
        yield Finding(path, "note", "a run without a journal: its process ended before it began one")
    for journal in journals:
        yield from _journal(journal)
    for other in _entries(path):
        yield from _leftover(other)


def _journal(path: Path) -> Iterator[Finding]:
    try:
        reader = read_journal(path)
        for _ in reader:
            pass
    except FlorError as error:
        yield Finding(path, "damage", error.what)
        return
    for damage in reader.damage:
        yield Finding(path, "damage", f"{damage.length} bytes: {damage.reason}", damage.offset)
    if reader.torn:
        yield Finding(path, "note", "the last record was being written when its process ended")


def _pack(path: Path) -> Iterator[Finding]:
    if path.suffix != ".safetensors":
        yield from _leftover(path)
        return
    try:
        with read_pack(path) as pack:
            bad = pack.verify()
    except FlorError as error:
        yield Finding(path, "damage", error.what)
        return
    for name in bad:
        yield Finding(path, "damage", f"the bytes of {name!r} are not those that were written")


def _checkpoints(run: RunFolder) -> Iterator[Finding]:
    """Every announced checkpoint that was not dropped since has all of its bytes."""
    references, gone = read_references(run), dropped.dropped_checkpoints(run.path)
    there: dict[str, Mapping[str, str]] = {}
    for checkpoint in references.checkpoints:
        for file, name in sorted(checkpoint.entries) if checkpoint.graph not in gone else ():
            if file not in there:
                there[file] = _digests(run.packs, file)
            if name not in there[file]:
                yield Finding(run.packs / file, "damage", f"{name!r}, which a checkpoint needs, is not there")
                break
            announced = checkpoint.digest if f"{file}/{name}" == checkpoint.graph else name
            if _DIGEST.fullmatch(announced) and there[file][name] != announced:
                yield Finding(run.packs / file, "damage", f"{name!r} is not what the run's journal announced")
                break


def _digests(packs: Path, file: str) -> Mapping[str, str]:
    if Path(file).name != file:  # a journal that names a file elsewhere is not followed there
        return {}
    try:
        with read_pack(packs / file) as opened:
            return {name: str(opened.digests.get(name, "")) for name in opened.names}
    except FlorError:
        return {}


def _leftover(path: Path) -> Iterator[Finding]:
    if path.suffix == ".tmp":
        yield Finding(path, "note", "left by a process that ended while it wrote this file; it may be deleted")


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []
