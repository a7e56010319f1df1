"""A store with a journal, and snapshots to write into it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flor.model.checkpoints import Checkpoint, Key
from flor.model.positions import Execution
from flor.model.records import Note
from flor.runtime.materializing import Pending
from flor.runtime.writers import make_writer
from flor.state import Admit, Answer, Memory, Snapshot, capture, decode, restore
from flor.store.journal import JournalWriter
from flor.store.layout import Layout
from flor.store.packreader import read_pack
from flor.store.reader import read_journal
from flor.store.run import RunFolder, create_run


def look(_: object) -> Answer:
    return Answer.LOOK


@dataclass
class Bench:
    """One run that is being recorded."""

    root: Path
    memory: Memory = field(default_factory=Memory)
    troubles: list[str] = field(default_factory=list)
    count: int = 0
    run: RunFolder = field(init=False)
    journal: JournalWriter = field(init=False)

    def __post_init__(self) -> None:
        layout = Layout(self.root / ".flor")
        layout.prepare()
        self.run = create_run(layout)
        self.journal = self.run.fragment(0, os.getpid())

    def writer(self, how: str = "thread") -> Any:
        return make_writer(how, self.run, self.journal.path.stem, self.journal.append, self.troubles.append)

    def take(self, *, admit: Admit | None = None, **names: Any) -> Pending:
        options = {} if admit is None else {"admit": admit}
        snapshot = capture({"s": names}, project=lambda _: False, memory=self.memory, **options)
        assert not snapshot.refusals, snapshot.refusals
        self.count += 1
        return Pending(Key(Execution((), "train.py::<module>#0", 0), self.count), snapshot, 0.0)

    def announced(self) -> list[Checkpoint]:
        """What a reader of the journal finds, now."""
        records = list(read_journal(self.journal.path))
        notes = [record for record in records if isinstance(record, Note) and record.kind == "checkpoint"]
        return [Checkpoint.from_json(note.values) for note in notes]

    def load(self, checkpoint: Checkpoint) -> Snapshot:
        """The snapshot from disk; every byte is checked."""

        def entry(file: str, name: str) -> memoryview:
            pack = read_pack(self.run.packs / file)
            assert pack.verify() == []
            return pack[name].data

        file, _, name = checkpoint.graph.partition("/")
        return decode(bytes(entry(file, name)), lambda blob: entry(checkpoint.blobs[blob], blob))

    def values(self, checkpoint: Checkpoint) -> dict[str, Any]:
        """The names of a checkpoint with their values, made anew."""
        return restore(self.load(checkpoint), {"s": {}}, project=lambda _: False).values["s"]
