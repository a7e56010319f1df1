"""Workers as processes of this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

GRACE = 3.0  # seconds that workers get to end after they were asked to


@dataclass
class Job:
    """One worker process."""

    number: int
    order: Path
    process: subprocess.Popen[bytes] | None = None
    code: int | None = None

    @property
    def stderr(self) -> Path:
        """Where its stderr goes."""
        return self.order.with_suffix(".stderr")

    def tail(self, lines: int = 12) -> str:
        """The end of its stderr."""
        try:
            return "\n".join(self.stderr.read_text(errors="replace").splitlines()[-lines:])
        except OSError:
            return ""


class LocalExecutor:
    """Runs orders, so many at a time, and hears when each ends."""

    def __init__(self, environment: dict[str, str], cwd: str, at_once: int) -> None:
        self.environment = environment
        self.cwd = cwd
        self.at_once = at_once
        self.running: list[Job] = []

    def run(self, orders: Sequence[tuple[int, Path]]) -> Iterator[Job]:
        """Each job as it ends; leaving the iteration early ends the others."""
        waiting = [Job(number, order) for number, order in orders]
        try:
            while waiting or self.running:
                while waiting and len(self.running) < self.at_once:
                    self.running.append(self._start(waiting.pop(0)))
                for job in [job for job in self.running if _has_ended(job)]:
                    self.running.remove(job)
                    yield job
                time.sleep(0.01)
        finally:
            self.stop()

    def stop(self) -> None:
        """End what still runs, gently and then not."""
        for sign in (signal.SIGTERM, signal.SIGKILL):
            for job in self.running:
                _signal(job, sign)
            end = time.monotonic() + GRACE
            while any(not _has_ended(job) for job in self.running) and time.monotonic() < end:
                time.sleep(0.02)
        self.running.clear()

    def _start(self, job: Job) -> Job:
        with open(job.stderr, "wb") as stderr:
            job.process = subprocess.Popen(
                [sys.executable, "-m", "flor.replay.worker", str(job.order)],
                cwd=self.cwd,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                start_new_session=True,
            )
        return job


def _has_ended(job: Job) -> bool:
    assert job.process is not None
    job.code = job.process.poll()
    return job.code is not None


def _signal(job: Job, sign: signal.Signals) -> None:
    assert job.process is not None
    try:
        os.killpg(job.process.pid, sign)
    except (ProcessLookupError, PermissionError):
        pass
