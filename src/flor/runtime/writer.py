"""Makes checkpoints durable off the training thread: hash, pack, journal frame, in that order."""

from __future__ import annotations

import _thread
import queue
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from flor.model.checkpoints import Checkpoint, Key
from flor.model.records import Note
from flor.state import Snapshot, encode
from flor.store.packs import PackEntry, write_pack
from flor.store.run import RunFolder

STAGED = 2  # snapshots in memory at most: one being written, one waiting


@dataclass(frozen=True)
class Pending:
    """A captured snapshot on its way to disk."""

    key: Key
    snapshot: Snapshot
    seconds: float
    files: Mapping[str, tuple[int, int, str]] = field(default_factory=dict)


class CheckpointWriter:
    """One thread that writes snapshots; what is announced in the journal is on disk."""

    def __init__(
        self,
        folder: RunFolder,
        fragment: str,
        announce: Callable[[Note], None],
        on_trouble: Callable[[str], None],
        *,
        at_once: bool = False,
    ) -> None:
        self.folder = folder
        self.fragment = fragment
        self.announce = announce
        self.on_trouble = on_trouble
        self.at_once = at_once  # write on the training thread: slow, for comparison
        self.stored: dict[str, str] = {}  # content hash -> pack file
        self.written: list[Checkpoint] = []
        self.bytes_written = 0
        self.failed = False
        self._numbers = 0
        self._free = threading.Semaphore(STAGED)
        self._queue: queue.SimpleQueue[Pending | None] = queue.SimpleQueue()
        self._ended = threading.Event()
        self._started = False

    def ready(self) -> bool:
        """True if a snapshot may be taken now without waiting; the caller then owes one `put`."""
        return not self.failed and self._free.acquire(blocking=False)

    def give_back(self) -> None:
        """Nothing was taken after all."""
        self._free.release()

    def put(self, pending: Pending) -> None:
        """Hand a snapshot over."""
        if self.at_once:
            self._settle(pending)
            return
        if not self._started:
            self._started = True
            # Not a threading.Thread: a script that counts its threads must not find ours among them.
            _thread.start_new_thread(self._work, ())
        self._queue.put(pending)

    def close(self, timeout: float) -> None:
        """Let what is pending become durable, within a bound; what does not is absent."""
        if self._started:  # only ever asked in the process that was recorded
            self._queue.put(None)
            self._ended.wait(timeout)

    def _work(self) -> None:
        try:
            while (pending := self._queue.get()) is not None:
                self._settle(pending)
        finally:
            self._ended.set()

    def _settle(self, pending: Pending) -> None:
        """Write one snapshot and give its memory back."""
        try:
            self.write(pending)
        except BaseException as error:  # the disk is full, memory is out: training goes on without checkpoints
            self.failed = True
            self.on_trouble(f"checkpoints can no longer be written: {type(error).__name__}: {error}")
        finally:
            pending.snapshot.release()
            self._free.release()

    def write(self, pending: Pending) -> None:
        """Hash, write the pack, then announce: only then does the checkpoint exist."""
        snapshot = pending.snapshot
        snapshot.digest()
        if not snapshot.usable:
            return
        graph, blobs = encode(snapshot)
        new = [blob for blob in blobs if blob.name not in self.stored and blob.data is not None]
        if any(blob.name not in self.stored and blob.data is None for blob in blobs):
            return  # a prediction about a storage that was never written: as if not taken
        self._numbers += 1
        file = f"{self.fragment}-{self._numbers:06d}.safetensors"
        name = f"graph-{self._numbers:06d}"
        entries = [PackEntry(name, "U8", (len(graph),), graph), *(_entry(blob) for blob in new)]
        write_pack(self.folder.packs / file, entries, {"key": str(pending.key)})
        self.stored.update({blob.name: file for blob in new})
        written = sum(blob.nbytes for blob in new) + len(graph)
        checkpoint = Checkpoint(
            key=pending.key,
            graph=f"{file}/{name}",
            blobs={blob.name: self.stored[blob.name] for blob in blobs},
            seconds=pending.seconds,
            bytes_logical=sum(blob.nbytes for blob in blobs) + len(graph),
            bytes_written=written,
            unkept=snapshot.unkept,
            files=pending.files,
        )
        self.announce(Note("checkpoint", checkpoint.as_json()))
        self.written.append(checkpoint)
        self.bytes_written += written


def _entry(blob: Any) -> PackEntry:
    return PackEntry(blob.name, blob.dtype, tuple(blob.shape), blob.data)
