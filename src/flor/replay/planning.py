"""The least work that yields what the probes ask for."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import inf

from flor.errors import UsageError
from flor.model.checkpoints import Key
from flor.model.edits import Edit, Probe
from flor.model.plan import Plan, Segment
from flor.model.positions import MODULE
from flor.replay.cutting import best_cuts
from flor.replay.history import History, LoopRun
from flor.source.blocks import Loop, find_loops, match_loops
from flor.source.effects import loops_that_may_enter
from flor.source.explicit import reached_from
from flor.source.undeclared import needs_of

RESTORE = 0.005  # seconds that putting a memoized end back takes, about
STARTUP = 2.5  # seconds that a worker needs before it reaches the main loop, if the record does not say


@dataclass(frozen=True)
class Sources:
    """Both versions of the project's files, with their loops matched."""

    recorded: Mapping[str, str]
    present: Mapping[str, str]

    def present_loops(self) -> list[Loop]:
        """The loops of the files as they are now."""
        return [loop for file, text in self.present.items() for loop in find_loops(ast.parse(text), file)]

    def recorded_loops(self) -> list[Loop]:
        """The loops of the files as they were executed."""
        return [loop for file, text in self.recorded.items() for loop in find_loops(ast.parse(text), file)]

    def loop_ids(self) -> dict[str, str]:
        """Present loop -> recorded loop; loops that are new are left out."""
        matched = match_loops(self.recorded_loops(), self.present_loops())
        return {str(new): str(old) for old, new in matched.items()}


@dataclass(frozen=True)
class Reach:
    """From which loops the probes are reached, and which parts of the program have any."""

    loops: frozenset[str]
    anywhere: bool
    outside_main: bool
    inside_main: bool
    carries: bool


def reach_of(edit: Edit, sources: Sources, history: History, main: LoopRun | None) -> Reach:
    """Which loops must run for the probes to be reached."""
    ids = sources.loop_ids()
    present = sources.present_loops()
    loops: set[str] = set()
    anywhere = outside = inside = False
    main_loop = main.execution.loop if main else None
    for probe in edit.probes:
        around = {ids[str(loop.id)] for loop in present if _is_around(loop, probe) and str(loop.id) in ids}
        above = _loops_entering(probe, sources, history)
        if probe.deferred or above is None:
            anywhere = True
        loops |= around | (above or set())
        reached = around | (above or set())
        inside |= anywhere or main_loop in reached
        outside |= anywhere or main_loop not in reached
    carries = any(probe.carries for probe in edit.probes)
    return Reach(frozenset(loops), anywhere, outside, inside or anywhere, carries)


def explicit_reach(edit: Edit, sources: Sources, main: LoopRun | None) -> Reach:
    """The same for a run whose loops and blocks the user named; what a probe reads and nobody declared must run too."""
    found = [reached_from(probe, sources.present, sources.recorded) for probe in edit.probes]
    needs = [needs_of(probe, sources.present, sources.recorded) for probe in edit.probes]
    loops = frozenset().union(*(names or () for names in found), *(need.blocks for need in needs))
    anywhere = None in found
    main_loop = main.execution.loop if main else None
    inside = anywhere or any(names is not None and main_loop in names for names in found)
    outside = anywhere or any(names is not None and main_loop not in names for names in found)
    carries = any(probe.carries for probe in edit.probes) or any(need.carried for need in needs)
    return Reach(loops, anywhere, outside, inside, carries)


def _is_around(loop: Loop, probe: Probe) -> bool:
    """True if the probe is in the loop, in the same function."""
    inside = loop.line <= probe.first_line and probe.last_line <= loop.end_line
    return loop.id.file == probe.file and inside


def _loops_entering(probe: Probe, sources: Sources, history: History) -> set[str] | None:
    """The recorded loops that entered the probe's function; None if it could be any."""
    if probe.function == MODULE:
        return set()
    name = f"{probe.file}::{probe.function}"
    entered = {loop for loop, functions in history.entered.items() if name in functions}
    if history.complete and entered and not history.forked:
        return entered
    trees = {file: ast.parse(text) for file, text in sources.recorded.items()}
    found = loops_that_may_enter(trees, probe.file, probe.function)
    return None if found is None else entered | {str(loop) for loop in found}


def make_plan(
    edit: Edit,
    sources: Sources,
    history: History,
    *,
    workers: int,
    epochs: tuple[int | None, int | None] | None,
    sparing: bool = False,
) -> Plan:
    """Decide what runs, from which checkpoints, on how many workers; with `sparing`, on no more than are worth it."""
    main = history.main()
    reach = explicit_reach(edit, sources, main) if history.explicit else reach_of(edit, sources, history, main)
    reasons: list[str] = []
    if main is None:
        if epochs is not None:
            raise UsageError(
                "--epochs is not possible: no loop of the run was recorded.", todo="Replay without --epochs."
            )
        reasons.append("no loop was recorded: the script runs from its beginning to its end")
        return Plan(
            None, 0, (Segment(0, None, None),), reach.loops, reach.anywhere, False, history.seconds, tuple(reasons)
        )
    if epochs is not None and in_coroutine(main.execution.loop, sources.recorded):
        raise UsageError(
            "--epochs is not possible: the main loop is in a coroutine, between whose steps others run.",
            todo="Replay without --epochs.",
        )
    start, stop = _range(epochs, main.iterations)
    ended = Key(main.execution, None) in history.checkpoints
    if epochs is None and not reach.inside_main and ended and reach.outside_main:
        reasons.append("no probe is inside the main loop: it is skipped as a whole")
        segment = Segment(0, None, None)
        return Plan(
            main.execution, main.iterations, (segment,), reach.loops, reach.anywhere, True, STARTUP, tuple(reasons)
        )
    work = Work.of(main, history, reach, stop)
    open_end = stop >= main.iterations and not history.under_way(main)
    if reach.carries:
        reasons.append("a probe carries values from one iteration to the next: one worker, from the beginning")
        segments = [Segment(start, None if open_end else stop, None)]
    else:
        most = min(workers, work.worth_workers(start, stop)) if sparing else workers
        if sparing and most == 1:
            few = "the threads of the recorded run take all cores" if workers == 1 else "another would start, not work"
            reasons.append(f"one worker: {few} (-j for more)")
        segments = split(work, start, stop, most, open_end=open_end)
    estimate = work.startup + max((work.seconds(s.start, s.stop or stop) for s in segments), default=0.0)
    if reach.carries:
        estimate = work.startup + sum(work.iterations[:stop])
    return Plan(
        main.execution, main.iterations, tuple(segments), reach.loops, reach.anywhere, False, estimate, tuple(reasons),
        carries=reach.carries,
    )  # fmt: skip


def in_coroutine(loop: str, sources: Mapping[str, str]) -> bool:
    """True if the function of a loop is an `async def`."""
    file, _, place = loop.partition("::")
    name = place.rpartition("#")[0].rpartition(".")[2]
    functions = (node for node in ast.walk(ast.parse(sources.get(file, ""))) if isinstance(node, ast.AsyncFunctionDef))
    return any(function.name == name for function in functions)


def _range(epochs: tuple[int | None, int | None] | None, iterations: int) -> tuple[int, int]:
    """The iterations asked for, by the rules of slices."""
    start, stop, _ = slice(*(epochs or (None, None))).indices(iterations)
    if start >= stop:
        raise UsageError(
            f"--epochs asks for no iteration: the main loop had {iterations}.", todo="Use A:B with A before B."
        )
    return start, stop


@dataclass(frozen=True)
class Work:
    """The seconds that each iteration of the main loop takes a worker, and those to come to it from `points`."""

    iterations: list[float]
    ways: list[float]
    points: list[int]
    startup: float  # until a worker reaches the main loop

    @classmethod
    def of(cls, main: LoopRun, history: History, reach: Reach, stop: int) -> Work:
        """By what the run took; loops inside whose end was memoized are skipped where no probe is reached from them."""
        skipped = {} if reach.anywhere else _spared(main, history, reach.loops)
        points = [point for point in history.resume_points(main.execution) if point < stop]
        iterations = _left(main, stop, skipped)
        outside = history.seconds - main.seconds if main.seconds is not None else 0.0
        return cls(iterations, _ways(main, history, points, stop), points, max(STARTUP, outside))

    def seconds(self, start: int, stop: int) -> float:
        """What one worker needs for these."""
        return self.ways[start] + sum(self.iterations[start:stop])

    def worth_workers(self, start: int, stop: int) -> int:
        """How many workers have more to do than to start."""
        return 1 + int(sum(self.iterations[start:stop]) / self.startup)


def split(work: Work, start: int, stop: int, workers: int, *, open_end: bool) -> list[Segment]:
    """Split the iterations so that the last worker is done soonest by the measured times."""
    cuts = [start + place for place in best_cuts(work.iterations[start:stop], work.ways[start:], workers)]
    segments = []
    for begin, end in pairwise([start, *cuts, stop]):
        resume = max((point for point in work.points if point <= begin), default=None) if begin else None
        segments.append(Segment(begin, None if end == stop and open_end else end, resume))
    return segments


def _ways(main: LoopRun, history: History, points: list[int], stop: int) -> list[float]:
    """The seconds that a worker needs to come to each iteration, from the resume point before it.

    On the way it skips the loops inside whose end was memoized, and runs the others.
    """
    at_points = set(points)
    ways = [0.0]
    for iteration, seconds in enumerate(_left(main, stop - 1, _spared(main, history)), 1):
        ways.append(0.0 if iteration in at_points else ways[-1] + seconds)
    return ways


def _left(main: LoopRun, stop: int, spared: Mapping[int, float]) -> list[float]:
    """The seconds of so many iterations without what is spared of them."""
    left = main.costs(stop)
    for iteration, seconds in spared.items():
        if iteration < stop:
            left[iteration] = RESTORE + max(0.0, left[iteration] - seconds)
    return left


def _spared(main: LoopRun, history: History, executed: frozenset[str] = frozenset()) -> dict[int, float]:
    """The seconds of each iteration of the main loop that memoized ends of loops make unnecessary, but of these."""
    spared: dict[int, float] = {}
    depth = len(main.execution.parent)
    for key in history.checkpoints:
        parent = key.execution.parent
        is_inside = len(parent) == depth + 1 and main.execution.encloses(parent)
        if key.iteration is None and is_inside and key.execution.loop not in executed:
            run = history.loops.get(key.execution)
            seconds = run.seconds if run is not None and run.seconds is not None else inf  # of a block nothing is known
            iteration = parent[depth].iteration
            spared[iteration] = spared.get(iteration, 0.0) + seconds
    return spared


def loops_with_else(sources: Sources) -> set[str]:
    """Loops whose `else` would run after a skip even if the recorded one ended by `break`."""
    ids = sources.loop_ids()
    return {ids[str(loop.id)] for loop in sources.present_loops() if loop.node.orelse and str(loop.id) in ids}


def probe_lines(edit: Edit) -> dict[str, list[int]]:
    """The lines of each file that are probes."""
    return {file: sorted(lines) for file, lines in edit.lines.added.items() if lines}


def doubtful_lines(edit: Edit) -> dict[str, list[int]]:
    """The lines of probes that might disturb training."""
    found: dict[str, set[int]] = {}
    for probe in edit.probes:
        if probe.doubts:
            found.setdefault(probe.file, set()).update(range(probe.first_line, probe.last_line + 1))
    return {file: sorted(lines) for file, lines in found.items()}
