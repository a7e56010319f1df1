"""Workers as processes of this machine, in teams that stand and fall together."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from flor.launch.conditions import command

STAGGER = 0.25  # seconds between the starts of teams for which there is no core
GRACE = 2.0  # seconds that workers get to end after they were asked to; then they are ended


@dataclass
class Job:
    """One worker process."""

    order: Path
    environment: Mapping[str, str]
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

    def start(self, cwd: str) -> None:
        """Begin, in a session of its own, so that a Ctrl-C is ours to pass on."""
        with open(self.stderr, "wb") as stderr:
            self.process = subprocess.Popen(
                command("flor.replay.worker", str(self.order)),
                cwd=cwd,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                start_new_session=True,
            )

    def has_ended(self) -> bool:
        """True if the process is no more; then `code` is how it ended."""
        assert self.process is not None
        self.code = self.process.poll()
        return self.code is not None

    def signal(self, sign: signal.Signals) -> None:
        """Tell the process and all that it has started."""
        assert self.process is not None
        try:
            os.killpg(self.process.pid, sign)
        except (ProcessLookupError, PermissionError):
            pass


@dataclass
class Team:
    """The workers of one segment: one, or one a rank; if one of them fails, the others are of no use."""

    number: int
    jobs: list[Job]
    started: float = 0.0

    def has_ended(self) -> bool:
        """True if all have ended, or if one has failed."""
        ended = [job.has_ended() for job in self.jobs]
        return all(ended) or any(job.code for job in self.jobs)

    @property
    def culprit(self) -> int:
        """The place of the first worker that ended badly by itself; 0 if none did."""
        return next((place for place, job in enumerate(self.jobs) if job.code and job.code > 0), 0)


@dataclass
class LocalExecutor:
    """Runs teams, so many at a time, and hears when each ends."""

    cwd: str
    at_once: int
    running: list[Team] = field(default_factory=list)
    started: float = 0.0  # when the latest team was

    def run(self, teams: Sequence[Team]) -> Generator[Team, None, None]:
        """Each team as it ends; leaving the iteration early ends the others."""
        waiting = list(teams)
        try:
            while waiting or self.running:
                while waiting and self._may_start():
                    self._start(waiting.pop(0))
                for team in [team for team in self.running if team.has_ended()]:
                    self.running.remove(team)
                    end_all(team.jobs)
                    yield team
                time.sleep(0.01)
        finally:
            end_all([job for team in self.running for job in team.jobs])
            self.running.clear()

    def _may_start(self) -> bool:
        """True if one more team has a place; teams beyond the cores begin one after the other.

        Importing torch keeps a core busy: all at once would all be late, one by one the first are soon at work.
        """
        if len(self.running) < min(self.at_once, cores()):
            return True
        return len(self.running) < self.at_once and time.monotonic() - self.started >= STAGGER

    def _start(self, team: Team) -> None:
        self.started = team.started = time.monotonic()
        self.running.append(team)
        for job in team.jobs:
            job.start(self.cwd)


def cores() -> int:
    """How many processes can be busy at once."""
    return len(os.sched_getaffinity(0))


def end_all(jobs: Sequence[Job]) -> None:
    """End what still runs, gently and then not; the guarantee that nothing of ours is left."""
    open_jobs = [job for job in jobs if job.process is not None and not job.has_ended()]
    for sign in (signal.SIGTERM, signal.SIGKILL):
        for job in open_jobs:
            job.signal(sign)
        end = time.monotonic() + GRACE
        try:
            while any(not job.has_ended() for job in open_jobs) and time.monotonic() < end:
                time.sleep(0.02)
        except KeyboardInterrupt:
            continue  # asked twice: no more patience
