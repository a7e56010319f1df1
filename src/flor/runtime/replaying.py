"""Replaying: jump to where the segment begins, skip what nobody asks for, check what can be checked."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from time import time
from types import FrameType, GeneratorType
from typing import Any, NoReturn

from flor.errors import RestoreMismatch
from flor.model.checkpoints import Key
from flor.model.plan import Plan, Segment
from flor.model.positions import Execution, Level, Position
from flor.model.records import Note
from flor.runtime.capturing import Capturer
from flor.runtime.probing import ProbeWatch
from flor.runtime.restoring import Checkpoints, Restorer
from flor.runtime.session import Session
from flor.runtime.sites import LoopFrame, clock
from flor.store.forks import living_children

SKIP, JUMP = "skip", "jump"
BEGUN = clock()  # about when the worker was started


@dataclass
class Counts:
    """What was done, for the summary."""

    executed: int = 0
    skipped: int = 0
    restored: int = 0
    checked: int = 0
    restoring: float = 0.0  # seconds that restores took
    materializing: float = 0.0  # seconds that the restored checkpoints had cost
    loops: dict[str, list[int]] = field(default_factory=dict)  # of each loop, how often it was executed and skipped

    def count(self, loop: str, *, skipped: bool) -> None:
        """One more execution of a loop, or one that was skipped."""
        self.executed += not skipped
        self.skipped += skipped
        self.loops.setdefault(loop, [0, 0])[skipped] += 1


@dataclass
class Replayer:
    """The conductor of a worker."""

    plan: Plan
    segment: Segment
    checkpoints: Checkpoints
    restorer: Restorer
    capturer: Capturer
    note: Callable[[Note], None]
    stop: Callable[[], NoReturn]
    refuse: Callable[[Exception], NoReturn]
    never_skip: frozenset[str]
    counts: Counts = field(default_factory=Counts)
    collecting: bool = False
    reached: int = -1  # the last iteration of the main loop that was about to begin
    last_restored: Key | None = None
    passed: LoopFrame | None = None  # a loop under way with nothing in it to compare with: its steps are let pass
    raised: tuple[int, Position] = (0, ())  # the identity of an exception, and where it was raised
    session: Session = field(init=False)
    watch: ProbeWatch = field(default_factory=ProbeWatch)

    def __post_init__(self) -> None:
        self.collecting = self.segment.start == 0
        if self.collecting:
            self._begin(0)

    # -- what the session tells ------------------------------------------------------------------

    def entering(self, frame: LoopFrame, caller: FrameType) -> Callable[[Iterable[Any]], Iterator[Any]] | None:
        """Skip the loop, jump into it, or let it run."""
        execution = self._execution(frame)
        if execution == self.plan.main and not self.plan.skip_main:
            return self._into_main(frame)
        if self._skippable(execution):
            frame.key = SKIP
            return lambda _: iter(())
        return None

    def boundary(self, frame: LoopFrame, caller: FrameType, now: float, index: int) -> bool:
        """Restore where the jump ends, begin and end the segment, check what was reached by executing."""
        if frame is self.passed:
            return True
        if frame.key == SKIP:
            return False
        execution = self._execution(frame)
        if execution != self.plan.main:
            if frame.steady and not self.checkpoints.inside(execution):
                self.passed = frame
            if index:
                self._check(Key(execution, index), frame, caller)
            return True
        self.reached = index
        if frame.key == JUMP and index == self.segment.resume:
            frame.key = None
            self._restore(Key(execution, index), frame, caller)
        elif index:
            self._check(Key(execution, index), frame, caller)
        if index == self.segment.stop:
            self._stop(index)
        if index == self.segment.start and not self.collecting:
            self.collecting = True
            self._begin(index)
        return True

    def leaving(self, frame: LoopFrame, caller: FrameType, now: float) -> None:
        """Put the memoized end back, or check that execution arrived at it."""
        key = Key(self._execution(frame), None)
        if frame.key == SKIP:
            self._restore(key, frame, caller)
            self.counts.count(key.execution.loop, skipped=True)
            self.note(Note("skipped", {**key.as_json(), "time": time()}))
            if key.execution == self.plan.main and not self.collecting:
                self.collecting = True
                self._begin(self.plan.iterations)
        else:
            self.counts.count(key.execution.loop, skipped=False)
            self._check(key, frame, caller)
            if key.execution == self.plan.main and self.segment.stop is not None:
                self._ended_before_stop(self.segment.stop)

    def _ended_before_stop(self, stop: int) -> None:
        """The main loop is over as far as it was recorded, and no more was asked for; or it is over too early.

        Counted by boundaries: a `while` loop has one more than iterations, and the last may have a checkpoint.
        """
        if self.reached + 1 >= stop >= self.plan.iterations:
            self._stop(stop)
        self.note(Note("ended early", {"stop": stop, "at": self.reached + 1}))

    def _stop(self, iteration: int) -> NoReturn:
        self.note(Note("stopped", {"at": iteration, **_now()}))
        self.stop()

    def left(self, frame: LoopFrame, now: float) -> None:
        """Remember where an exception that leaves loops was raised: in the innermost of them."""
        error = sys.exc_info()[1]
        if error is not None and self.raised[0] != id(error):
            level = Level(frame.site.loop, frame.occurrence, frame.iteration)
            self.raised = (id(error), (*self.session.position(), level))

    def position_of(self, error: BaseException) -> Position:
        """Where an exception was raised that has left the script."""
        return self.raised[1] if self.raised[0] == id(error) else ()

    def probing(self, place: str, caller: FrameType) -> None:
        """Take the state before a probe that might disturb training."""
        self.watch.before(place, self.capturer.whole, caller)

    def probed(self, place: str, caller: FrameType) -> None:
        """Tell what the probe has changed, if anything."""
        restorer = self.restorer
        differences = self.watch.after(place, self.capturer.whole, caller, restorer.ignored, restorer.allowed)
        if differences:
            self.note(Note("disturbed", {"probe": place, "differences": differences}))

    # -- how -------------------------------------------------------------------------------------

    def _begin(self, iteration: int) -> None:
        """The segment begins here; what is logged from now on counts."""
        self.note(Note("segment", {"start": iteration, "seconds": clock() - BEGUN, **_now()}))

    def _into_main(self, frame: LoopFrame) -> Callable[[Iterable[Any]], Iterator[Any]] | None:
        """Let the main loop begin at the resume point: items before it are taken and dropped."""
        resume = self.segment.resume
        if not resume:
            return None
        frame.key = JUMP
        frame.seen = resume
        return lambda iterable: self._from(frame, iterable, resume)

    def _from(self, frame: LoopFrame, iterable: Iterable[Any], resume: int) -> Iterator[Any]:
        """The items from the resume point on; a generator's own state is not in a checkpoint, so it is not jumped."""
        if isinstance(iterable, GeneratorType):
            key = Key(self._execution(frame), resume)
            self.refuse(
                RestoreMismatch("The main loop runs over a generator, whose state can't be restored.", where=str(key))
            )
        return self.session.usual(frame, iterable, drop=resume)

    def _skippable(self, execution: Execution) -> bool:
        """True if the end state is there and nobody needs what happens inside."""
        loop = execution.loop
        if loop in self.never_skip or ((self.collecting or self.plan.carries) and self.plan.must_run(loop)):
            return False
        if self.plan.main is not None and _contains_main(execution, self.plan.main) and not self.plan.skip_main:
            return False
        return self.checkpoints.usable(Key(execution, None))

    def _restore(self, key: Key, frame: LoopFrame, caller: FrameType) -> None:
        self.last_restored = key
        begun = clock()
        doubts = self.restorer.restore(key, frame, caller)
        seconds = clock() - begun
        jump = key.iteration is not None
        self.note(Note("restored", {**key.as_json(), "seconds": seconds, "jump": jump}))
        self.counts.restored += 1
        self.counts.restoring += seconds
        self.counts.materializing += self.checkpoints.found[key].seconds
        if doubts:
            self.note(Note("doubted", {**key.as_json(), "differences": doubts}))

    def _check(self, key: Key, frame: LoopFrame, caller: FrameType) -> None:
        """Compare the state that execution arrived at with the recorded one, object by object."""
        if not self.checkpoints.exists(key):
            return
        differences = self.restorer.compare(key, self.capturer.capture(key, frame, caller))
        self.counts.checked += 1
        self.note(Note("checked", {**key.as_json(), "differences": differences}))

    def _execution(self, frame: LoopFrame) -> Execution:
        position: Position = self.session.position()
        above = position[: self.session.stack.index(frame)] if frame in self.session.stack else position
        return Execution(above, frame.site.loop, frame.occurrence)


def _now() -> dict[str, Any]:
    """When this is, and which processes live beyond it: what these log is on both sides."""
    return {"time": time(), "children": living_children()}


def _contains_main(execution: Execution, main: Execution) -> bool:
    """True if the main loop is begun inside this execution."""
    return execution.encloses(main.parent)
