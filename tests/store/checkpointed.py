"""Runs with checkpoints, made without any training."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from flor.model.checkpoints import Checkpoint, Key
from flor.model.positions import Execution
from flor.model.records import Ended, Facts, Note
from flor.store.journal import JournalWriter
from flor.store.layout import Layout
from flor.store.packreader import read_pack
from flor.store.packs import PackEntry, write_pack
from flor.store.retention.dropped import dropped_checkpoints
from flor.store.retention.references import read_references
from flor.store.run import RunFolder, create_run

BULK = 10_000


class CheckpointedRun:
    """A run to which checkpoints are added; a blob that an earlier one wrote is only referred to."""

    def __init__(self, layout: Layout, name: str, tags: tuple[str, ...] = (), rank: int = 0) -> None:
        self.run: RunFolder = create_run(layout, name)
        self.journal: JournalWriter = self.run.fragment(rank, 1)
        self.journal.append(Facts({"tags": list(tags), "script": "train.py"}))
        self.stored: dict[str, str] = {}
        self.count = 0

    def add(self, *blobs: str, loop: str = "train.py::<module>#0", end: bool = False) -> str:
        """A checkpoint of these blobs, each of BULK bytes; gives its identity."""
        self.count += 1
        file, name = f"{self.journal.path.stem}-{self.count:06d}.safetensors", f"graph-{self.count:06d}"
        new = [blob for blob in blobs if blob not in self.stored]
        entries = [PackEntry(name, "U8", (5,), b"graph"), *(_bulk(blob) for blob in new)]
        write_pack(self.run.packs / file, entries, {"key": str(self.count)})
        self.stored.update(dict.fromkeys(new, file))
        key = Key(Execution((), loop, self.count if end else 0), None if end else self.count)
        where = {blob: self.stored[blob] for blob in blobs}
        checkpoint = Checkpoint(key, f"{file}/{name}", where, 0.0, 0, 0)
        self.journal.append(Note("checkpoint", checkpoint.as_json()))
        return checkpoint.graph

    def end(self) -> RunFolder:
        """Seal it."""
        self.journal.seal(Ended({"exit": 0}))
        return self.run


def _bulk(blob: str) -> PackEntry:
    return PackEntry(blob, "U8", (BULK,), blob.encode().ljust(BULK, b"."))


def trained(layout: Layout, name: str, count: int, tags: tuple[str, ...] = ()) -> RunFolder:
    """A run with `count` checkpoints: a frozen blob that all share, and one of their own each."""
    run = CheckpointedRun(layout, name, tags)
    for number in range(count):
        run.add("frozen", f"own-{number}")
    return run.end()


def readable(run: RunFolder) -> dict[str, bool]:
    """For each checkpoint that exists, whether every byte of it is there and as it was written."""
    gone = dropped_checkpoints(run.path)
    checkpoints = [each for each in read_references(run).checkpoints if each.graph not in gone]
    return {each.graph: all(_intact(run.packs / file, name) for file, name in each.entries) for each in checkpoints}


def _intact(path: Path, name: str) -> bool:
    if not path.exists():
        return False
    with read_pack(path) as pack:
        return name in pack.names and name not in pack.verify()


def contents(layout: Layout) -> Mapping[str, int]:
    """Every file of a store with its size, but for the lock."""
    found = [path for path in layout.root.rglob("*") if path.is_file() and path.name != "gc.lock"]
    return {str(path.relative_to(layout.root)): path.stat().st_size for path in found}
