"""The paper's way to materialize: a forked child sees the state as it was, writes it, and ends.

Small snapshots are copied and wait until there are enough of them for a fork; one that looks into live memory forks at
once. No kernel of torch runs in a child: it would wait for threads that it does not have.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any, NoReturn

from flor.model.checkpoints import Checkpoint
from flor.model.records import Note
from flor.runtime.materializing import Ledger, Materialized, Pending, materialize, why
from flor.runtime.slowdown import Write
from flor.state.staging import Staging
from flor.store.run import RunFolder

CHILDREN = 2  # alive at most, as in the paper
BATCH = 5000  # objects that wait for a fork, as in the paper
BATCH_BYTES = 4 << 20  # ... or bytes of their copies
BAD = 1


@dataclass(frozen=True)
class Sent:
    """A snapshot that a child is writing, and of each blob the memory that was believed unchanged, if any."""

    pending: Pending
    believed: tuple[Hashable | None, ...]


@dataclass
class Child:
    """A forked process that writes some snapshots, and the nameless file through which it reports."""

    pid: int
    report: IO[bytes]
    batch: list[Sent]
    begun: float = field(default_factory=time.perf_counter)


class ForkWriter:
    """Forks for a batch of snapshots; its children are heard and reaped at the boundaries that follow."""

    waits = False
    forks = True

    def __init__(
        self, folder: RunFolder, fragment: str, announce: Callable[[Note], None], on_trouble: Callable[[str], None]
    ) -> None:
        self.ledger = Ledger(folder.packs, fragment, announce)
        self.on_trouble = on_trouble
        self.failed = False
        self._pid = os.getpid()
        self._batch: list[Pending] = []
        self._children: list[Child] = []
        self._over: list[Write] = []

    @property
    def busy(self) -> bool:
        """True while a child is alive."""
        return bool(self._children)

    def ready(self) -> bool:
        """True if a snapshot may be taken now without waiting."""
        self._hear()
        return not self.failed and len(self._children) < CHILDREN

    def give_back(self) -> None:
        """Nothing was taken after all."""

    def put(self, pending: Pending) -> None:
        """Keep a small snapshot for later; fork for one that looks into live memory, or when there are enough."""
        self._batch.append(pending)
        objects = sum(len(each.snapshot.nodes) for each in self._batch)
        copied = sum(each.snapshot.nbytes for each in self._batch)
        if _looks(pending) or objects >= BATCH or copied >= BATCH_BYTES:
            self._fork()

    def put_now(self, pending: Pending) -> None:
        """A child sees live memory as it is now, so nobody has to wait."""
        self.put(pending)

    def warm(self, staging: Staging, sizes: Counter[int]) -> None:
        """Nothing is copied."""

    def beside(self, job: Callable[[], None]) -> None:
        """There is no thread."""

    def finished(self) -> Write | None:
        """The oldest write that is over and was not asked for yet."""
        self._hear()
        return self._over.pop(0) if self._over else None

    def drain(self, timeout: float | None = None) -> bool:
        """Wait until all that was handed over is settled; False if that takes too long."""
        if self._batch and not self.failed:
            self._fork()
        until = time.monotonic() + (timeout if timeout is not None else float("inf"))
        while self._children and time.monotonic() < until:
            self._hear()
            time.sleep(0.002)
        return not self._children

    def close(self, timeout: float) -> None:
        """Let what is pending become durable, within a bound; children that need longer are ended."""
        if os.getpid() != self._pid:
            return
        self.drain(timeout)
        for child in self._children:
            with suppress(OSError):
                os.kill(child.pid, signal.SIGKILL)
                os.waitpid(child.pid, 0)
            child.report.close()
        self._children.clear()

    def _fork(self) -> None:
        """Send a child off with everything that waits."""
        batch, self._batch = self._batch, []
        paths = [self.ledger.next_pack() for _ in batch]
        try:
            report = tempfile.TemporaryFile(dir=self.ledger.packs)  # noqa: SIM115 (closed when it was heard)
            pid = _fork_unheard()
        except (OSError, RuntimeError) as error:
            self._over += [Write(0.0, 0.0, 0) for _ in batch]
            self._fail(why(error))
            return
        if pid == 0:
            _write_all(batch, paths, self.ledger.stored, report.fileno())
        self._children.append(Child(pid, report, [_let_go(pending) for pending in batch]))

    def _hear(self) -> None:
        """Announce what children that have ended wrote; what one did not report is absent."""
        for child in list(self._children):
            try:
                pid, status = os.waitpid(child.pid, os.WNOHANG)
            except ChildProcessError:  # the script itself has waited for any child; what was reported counts
                pid, status = child.pid, 0
            if pid:
                self._children.remove(child)
                self._conclude(child, status)

    def _conclude(self, child: Child, status: int) -> None:
        with child.report as report:
            report.seek(0)
            rows = [json.loads(line) for line in report if line.endswith(b"\n")]
        told = [row for row in rows if "error" not in row]
        written = sum(self.ledger.enter(_heard(sent, row)) for sent, row in zip(child.batch, told, strict=False))
        seconds = time.perf_counter() - child.begun
        self._over += [Write(seconds, seconds, written), *(Write(0.0, 0.0, 0) for _ in child.batch[1:])]
        if status or len(told) < len(child.batch):
            reason = rows[-1]["error"] if len(rows) > len(told) else f"a child ended with {_how(status)}"
            self._fail(reason)

    def _fail(self, reason: str) -> None:
        if not self.failed:
            self.failed = True
            with suppress(Exception):
                self.on_trouble(f"checkpoints can no longer be written: {reason}")


def _looks(pending: Pending) -> bool:
    """True if some of it is not a copy, so that only a child that is forked now sees it as it is now."""
    blobs = pending.snapshot.blobs
    return any(blob.live is not None or (blob.data is not None and blob.nbytes >= 1 << 16) for blob in blobs)


def _fork_unheard() -> int:
    """Fork; signals that the group is sent are the script's, and none runs a handler of its own in the child."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that other threads exist: the child uses none of their locks
            pid = os.fork()
        if pid == 0:
            _forget_handlers()
        return pid
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _forget_handlers() -> None:
    """In the child: the default for all that the script handles, and Ctrl-C is for its parent alone."""
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            with suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_DFL)
    with suppress(OSError, ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _write_all(batch: list[Pending], paths: list[Any], stored: dict[str, str], report: int) -> NoReturn:
    """In the child: write each snapshot, report it, and end without a trace of the parent's business."""
    code = BAD
    try:
        gc.disable()  # finalizers are the user's code
        for pending, path in zip(batch, paths, strict=True):
            row = _row(pending, materialize(pending, path, stored))
            _tell(report, row)
            stored.update(dict.fromkeys(row["new"], path.name))
        code = 0
    except BaseException as error:
        with suppress(BaseException):
            _tell(report, {"error": why(error)})
    finally:
        os._exit(code)


def _tell(report: int, row: dict[str, Any]) -> None:
    rest = memoryview(json.dumps(row).encode() + b"\n")
    while rest:
        rest = rest[os.write(report, rest) :]


def _row(pending: Pending, done: Materialized | None) -> dict[str, Any]:
    """What the parent needs to know: the checkpoint, and the name of each blob in order."""
    return {
        "checkpoint": None if done is None else done.checkpoint.as_json(),
        "new": [] if done is None else list(done.new),
        "names": [blob.name for blob in pending.snapshot.blobs],
    }


def _let_go(pending: Pending) -> Sent:
    """In the parent: the child has the bytes; what may be remembered of them waits for their names."""
    blobs = pending.snapshot.blobs
    sent = Sent(pending, tuple(blob.live.key if blob.live is not None else None for blob in blobs))
    pending.snapshot.release()
    for blob in blobs:
        blob.live = blob.data = None
    return sent


def _heard(sent: Sent, row: dict[str, Any]) -> Materialized | None:
    """The report of one snapshot; the names are remembered so that unchanged memory is not written again."""
    snapshot = sent.pending.snapshot
    for blob, name, believed in zip(snapshot.blobs, row["names"], sent.believed, strict=True):
        if believed is not None and blob.name != name:
            snapshot.distrusted.append(believed)
        blob.name = name
    tell, snapshot.on_digest = snapshot.on_digest, None
    if tell is not None:
        tell(snapshot)
    if row["checkpoint"] is None:
        return None
    return Materialized(Checkpoint.from_json(row["checkpoint"]), tuple(row["new"]))


def _how(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"signal {-code}" if code < 0 else f"exit code {code}"
