"""What a replay is going to do: probes -> loops to execute -> segments for workers."""

from __future__ import annotations

from dataclasses import dataclass, field

from flor.model.positions import Execution


@dataclass(frozen=True, slots=True)
class Segment:
    """The part of a run that one worker replays: iterations `start` to `stop` of the main loop.

    The first segment also has what comes before the loop, the last one (`stop` is None) what comes after it.
    """

    start: int
    stop: int | None
    resume: int | None  # the resume point to jump to; None means from the script's beginning

    def __str__(self) -> str:
        begin = "the script's beginning" if self.resume is None else f"the checkpoint at {self.resume}"
        end = "the script's end" if self.stop is None else str(self.stop)
        return f"iterations {self.start} to {end}, from {begin}"


@dataclass(frozen=True, slots=True)
class Plan:
    """What runs, what is skipped, and why."""

    main: Execution | None
    iterations: int
    segments: tuple[Segment, ...]
    executes: frozenset[str]  # loops that must run because a probe is reached from them
    all_loops: bool  # True if a probe could be reached from anywhere
    skip_main: bool  # True if the main loop itself is jumped over by its memoized end
    estimate: float
    reasons: tuple[str, ...] = ()
    carries: bool = False  # True if the probes hand values on: what feeds them runs before the window too

    def must_run(self, loop: str) -> bool:
        """True if executions of this loop may log something that is asked for."""
        return self.all_loops or loop in self.executes


@dataclass(frozen=True)
class Order:
    """Everything that a worker process needs to know, as plain JSON."""

    run: str
    store: str
    folder: str
    worker: int
    segment: Segment
    plan: Plan
    argv: tuple[str, ...]
    script: str
    module: str | None
    sources: dict[str, str] = field(repr=False)  # file -> text as it is to be executed
    loops: dict[str, str]  # loop id in the present source -> in the recorded one; new loops are left out
    probe_lines: dict[str, list[int]]
    never_skip: tuple[str, ...]
    doubtful: dict[str, list[int]]  # lines of probes that might disturb training
    new_names: tuple[tuple[str, str], ...]  # (scope, name) that only the probes bind
    without: tuple[str, ...] = ()  # checkpoints that failed before, by their text
    volatile: tuple[str, ...] = ()  # variables that the user says differ from run to run
    rank: int = 0
    ranks: int = 1  # processes that train together
    writes: tuple[str, ...] = ()  # absolute paths that the recorded run has written
    cwd: str = ""  # the folder in which the run was started
    shown: tuple[str, str] = ("", "")  # a folder of a moved project, and the path under which the script sees it
    wall: str = "python"  # what keeps the script's files apart: a name of launch/wall/choice.py

    @property
    def name(self) -> str:
        """What the worker's files are called."""
        return worker_name(self.worker, self.rank, self.ranks)


def worker_name(worker: int, rank: int, ranks: int) -> str:
    """What the files of a worker are called, `w0`, or of one of several ranks, `w0r1`."""
    return f"w{worker}r{rank}" if ranks > 1 else f"w{worker}"
