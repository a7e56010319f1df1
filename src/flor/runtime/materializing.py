"""A snapshot made durable: hashed, what is new of it written as a pack, then announced; in that order."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from flor.errors import FlorError
from flor.model.checkpoints import Checkpoint, FilesNow, Key, content_name
from flor.model.records import Note
from flor.state import Blob, Snapshot, encode
from flor.state.unaccounted import unaccounted
from flor.store.packs import PackEntry, write_pack


@dataclass(frozen=True)
class Pending:
    """A captured snapshot on its way to disk."""

    key: Key
    snapshot: Snapshot
    seconds: float
    files: FilesNow = field(default_factory=FilesNow)
    inputs: int = 0  # readings before it


@dataclass(frozen=True)
class Materialized:
    """What is on disk now: the checkpoint, and the blobs that are in its own pack."""

    checkpoint: Checkpoint
    new: tuple[str, ...]


def breathe() -> None:
    """Let training have the interpreter, for which it would else wait whole milliseconds."""
    time.sleep(1e-4)


def materialize(pending: Pending, path: Path, stored: Mapping[str, str]) -> Materialized | None:
    """Write one snapshot to a new pack; None if a prediction failed, which is as if it had not been taken."""
    snapshot = pending.snapshot
    snapshot.digest()
    if not snapshot.usable:
        return None
    graph, blobs = encode(snapshot, breathe)
    new = [blob for blob in blobs if blob.name not in stored]
    if any(blob.data is None for blob in new):
        return None  # a prediction about a storage that was never written
    name = f"graph-{path.stem.rpartition('-')[2]}"
    files = {content_name(digest): content for digest, content in pending.files.contents.items()}
    new_files = {file: content for file, content in files.items() if file not in stored}
    entries = [PackEntry(file, "U8", (len(content),), content) for file, content in new_files.items()]
    graph_entry = PackEntry(name, "U8", (len(graph),), graph)
    info = write_pack(path, [graph_entry, *map(_entry, new), *entries], {"key": str(pending.key)})
    written = (*(blob.name for blob in new), *new_files)
    places = {**stored, **dict.fromkeys(written, path.name)}
    checkpoint = Checkpoint(
        key=pending.key,
        graph=f"{path.name}/{name}",
        blobs={held: places[held] for held in (*(blob.name for blob in blobs), *files)},
        seconds=pending.seconds,
        bytes_logical=sum(blob.nbytes for blob in blobs) + len(graph) + sum(map(len, files.values())),
        bytes_written=sum(blob.nbytes for blob in new) + len(graph) + sum(map(len, new_files.values())),
        unkept=snapshot.unkept,
        unaccounted=unaccounted(snapshot),
        files=pending.files.facts,
        shapes=pending.files.shapes,
        inputs=pending.inputs,
        digest=info.digests[name],
    )
    return Materialized(checkpoint, written)


def _entry(blob: Blob) -> PackEntry:
    assert blob.data is not None
    return PackEntry(blob.name, blob.dtype, tuple(blob.shape), blob.data, digest=blob.name)


def why(error: BaseException) -> str:
    """What went wrong, for one line."""
    return error.what if isinstance(error, FlorError) else f"{type(error).__name__}: {error}"


class Ledger:
    """The checkpoints that exist, and which blob is in which pack."""

    def __init__(self, packs: Path, fragment: str, announce: Callable[[Note], None]) -> None:
        self.packs = packs
        self.fragment = fragment
        self.announce = announce
        self.stored: dict[str, str] = {}  # content hash -> pack file
        self.written: list[Checkpoint] = []
        self.bytes_written = 0
        self.bytes_logical = 0
        self.mispredicted = 0
        self._numbers = 0

    def next_pack(self) -> Path:
        """A file that does not exist yet."""
        self._numbers += 1
        return self.packs / f"{self.fragment}-{self._numbers:06d}.safetensors"

    def enter(self, done: Materialized | None) -> int:
        """Announce what is on disk, only then does it exist; how many bytes were written."""
        if done is None:
            self.mispredicted += 1
            return 0
        checkpoint = done.checkpoint
        self.stored.update(dict.fromkeys(done.new, checkpoint.graph.partition("/")[0]))
        self.announce(Note("checkpoint", checkpoint.as_json()))
        self.written.append(checkpoint)
        self.bytes_written += checkpoint.bytes_written
        self.bytes_logical += checkpoint.bytes_logical
        return checkpoint.bytes_written
