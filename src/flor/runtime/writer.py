"""Makes checkpoints durable off the training thread: one thread, at most two snapshots."""

from __future__ import annotations

import queue
import threading
import time
import weakref
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from flor.model.records import Note
from flor.runtime.materializing import Ledger, Pending, materialize, why
from flor.runtime.pauses import patience, wait_for_a_pause
from flor.runtime.slowdown import Write
from flor.state import Snapshot
from flor.state.staging import SNAPSHOTS, Staging
from flor.store import threads
from flor.store.run import RunFolder

__all__ = ["CheckpointWriter", "Pending", "Writer"]

STAGED = SNAPSHOTS  # snapshots in memory at most: one being written, one waiting


class Writer(Protocol):
    """Who makes snapshots durable: a thread, a forked child, or the training thread itself."""

    ledger: Ledger
    failed: bool
    waits: bool  # training waits until all is on disk
    forks: bool  # a snapshot is what a forked child sees

    @property
    def busy(self) -> bool:
        """True while something is being written or prepared."""
        ...

    def ready(self) -> bool:
        """True if a snapshot may be taken now without waiting; the caller then owes one `put` or `give_back`."""
        ...

    def give_back(self) -> None:
        """Nothing was taken after all."""
        ...

    def put(self, pending: Pending) -> None:
        """Hand a snapshot over."""
        ...

    def put_now(self, pending: Pending) -> None:
        """Write a snapshot that still looks into live memory, while training waits."""
        ...

    def warm(self, staging: Staging, sizes: Counter[int]) -> None:
        """Have memory made ready for the copies of a snapshot."""
        ...

    def beside(self, job: Callable[[], None]) -> None:
        """Have something done that a checkpoint would else have to wait for, if there is a thread that can."""
        ...

    def finished(self) -> Write | None:
        """The oldest write that is over and was not asked for yet."""
        ...

    def close(self, timeout: float) -> None:
        """Let what is pending become durable, within a bound; what does not is absent."""
        ...


class CheckpointWriter:
    """One thread that writes snapshots; what is announced in the journal is on disk."""

    forks = False

    def __init__(
        self,
        folder: RunFolder,
        fragment: str,
        announce: Callable[[Note], None],
        on_trouble: Callable[[str], None],
        *,
        at_once: bool = False,
    ) -> None:
        self.ledger = Ledger(folder.packs, fragment, announce)
        self.on_trouble = on_trouble
        self.waits = at_once  # write on the training thread: slow, for comparison
        self.failed = False
        self._under_way = 0
        self._warming = False
        self._free = threading.Semaphore(STAGED)
        self._writing = threading.Lock()
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._over: deque[Write] = deque()
        self._hurry, self._ended = threading.Event(), threading.Event()
        self._started = False
        self._latest: weakref.ref[Snapshot] | None = None
        self._last = 0.0  # when the thread last began with something

    @property
    def busy(self) -> bool:
        """True while something is being written or prepared."""
        return self._under_way > 0

    def ready(self) -> bool:
        """True if a snapshot may be taken now without waiting; the caller then owes one `put` or `give_back`."""
        return not self.failed and not self._warming and self._free.acquire(blocking=False)

    def give_back(self) -> None:
        """Nothing was taken after all."""
        self._free.release()

    def put(self, pending: Pending) -> None:
        """Hand a snapshot over."""
        if self.waits:
            self._settle(pending, waited_for=True)
            return
        self._latest = weakref.ref(pending.snapshot)
        if not self._do(lambda: self._settle(pending)):
            self._over.append(Write(0.0, 0.0, 0))
            self._let_go(pending)

    def put_now(self, pending: Pending) -> None:
        """Write a snapshot that still looks into live memory, while training waits."""
        self._settle(pending, waited_for=True)

    def warm(self, staging: Staging, sizes: Counter[int]) -> None:
        """Have memory made ready for the copies of a snapshot."""

        def warm() -> None:
            try:
                self._wait()
                with suppress(MemoryError, OSError):  # then there is none; what was written before is not touched by it
                    staging.warm(sizes)
            finally:
                self._warming = False

        self._warming = True  # a look at the state before it is there would be in vain
        if not self._do(warm):
            self._warming = False

    def beside(self, job: Callable[[], None]) -> None:
        """Have something done that a checkpoint would else have to wait for."""

        def attempt() -> None:
            with suppress(Exception):  # the checkpoint will try it again
                self._wait()
                job()

        if not self.waits:
            self._do(attempt)

    def finished(self) -> Write | None:
        """The oldest write that is over and was not asked for yet."""
        return self._over.popleft() if self._over else None

    def drain(self, timeout: float | None = None) -> bool:
        """Wait until all that was handed over is settled; False if that takes too long."""
        if not self._started:
            return True
        self._confirm()
        settled = threading.Event()
        self._jobs.put(settled.set)
        self._hurry.set()
        try:
            return settled.wait(timeout)
        finally:
            self._hurry.clear()

    def close(self, timeout: float) -> None:
        """Let what is pending become durable, within a bound; what does not is absent."""
        if self._started:  # only ever asked in the process that was recorded
            self._confirm()
            self._jobs.put(None)
            self._hurry.set()
            self._ended.wait(timeout)

    def _confirm(self) -> None:
        """The training thread comes by no boundary while it waits for us: what it has to confirm, it does now."""
        latest = self._latest() if self._latest is not None else None
        if latest is not None:
            latest.confirm()

    def _do(self, job: Callable[[], None]) -> bool:
        """Have the thread do a job; False if there is none and none can be had."""
        if not self._started:
            self._last = time.perf_counter()  # the first job does not wait: the run may be a short one
            try:
                threads.start(self._work)
            except RuntimeError as error:
                self._fail(error)
                return False
            self._started = True
        self._under_way += 1

        def counted() -> None:
            try:
                job()
            finally:
                self._under_way -= 1

        self._jobs.put(counted)
        return True

    def _work(self) -> None:
        try:
            while (job := self._jobs.get()) is not None:
                try:
                    job()
                except BaseException as error:  # an uncaught one would be printed
                    self._fail(error)
        finally:
            self._ended.set()

    def _settle(self, pending: Pending, *, waited_for: bool = False) -> None:
        """Write one snapshot and give its memory back."""
        begun, cpu, written = time.perf_counter(), time.thread_time(), 0
        try:
            if not waited_for:
                pending.snapshot.complete()  # what is copied late can't wait
                copied = time.perf_counter()
                pending.snapshot.conclude()
                self._wait()
                begun += time.perf_counter() - copied
            with self._writing:
                written = 0 if self.failed else self._write(pending)
        except BaseException as error:
            if waited_for and not isinstance(error, Exception):
                raise  # Ctrl-C is the script's
            self._fail(error)
        finally:
            seconds = time.perf_counter() - begun
            if not waited_for:
                self._over.append(Write(seconds, time.thread_time() - cpu, written))
            self._let_go(pending)

    def _let_go(self, pending: Pending) -> None:
        """A snapshot is done with: its memory and its place are free."""
        with suppress(BaseException):  # memory that can't be given back is lost, training is not
            pending.snapshot.release()
        self._free.release()

    def _wait(self) -> None:
        """Let training have the processor as long as it needs it, within bounds."""
        wait_for_a_pause(patience(time.perf_counter() - self._last), self._hurry)
        self._last = time.perf_counter()

    def _write(self, pending: Pending) -> int:
        return self.ledger.enter(materialize(pending, self.ledger.next_pack(), self.ledger.stored))

    def _fail(self, error: BaseException) -> None:
        """The disk is full, memory is out: training goes on without checkpoints; said once."""
        if not self.failed:
            self.failed = True
            with suppress(BaseException):
                self.on_trouble(f"checkpoints can no longer be written: {why(error)}")
