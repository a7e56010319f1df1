"""Recording: which loops ran, for how long, and a checkpoint where one can be afforded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from flor.model.checkpoints import Key
from flor.model.positions import Execution, Position
from flor.model.records import Note
from flor.runtime.capturing import Capturer
from flor.runtime.policy import affordable_from
from flor.runtime.session import Session
from flor.runtime.sites import LoopFrame, clock
from flor.runtime.writer import CheckpointWriter, Pending

NOTED = 5e-3  # seconds: shorter loop executions are only summed up
FIRST_GUESS = 0.02  # seconds that the first checkpoint is expected to cost
WORTH = 3.0  # a loop execution is memoized only if it took this many times what saving it costs
NESTED_SHARE = 32  # within a nested loop at most one resume point each 1/32 of the time so far
DENSE_POINTS = 64  # resume points of an outermost loop: each of the first 64, then one each 1/64 of the time so far
DENSE_ENDS = 2000  # memoized ends of a loop: each of the first 2,000
DENSE_BYTES = 4 << 30  # ... and all of them only while the run's packs are smaller than this


@dataclass
class Tally:
    """What became of the boundaries that were considered."""

    taken: int = 0
    spent: float = 0.0
    left_out: Counter[str] = field(default_factory=Counter)
    refusals: dict[str, str] = field(default_factory=dict)


class Recorder:
    """The conductor of a recorded run."""

    session: Session

    def __init__(
        self,
        note: Callable[[Note], None],
        capturer: Capturer | None,
        writer: CheckpointWriter | None,
        tolerance: float,
        files: Callable[[], dict[str, tuple[int, int, str]]] = dict,
    ) -> None:
        self.note = note
        self.capturer = capturer
        self.writer = writer
        self.tolerance = tolerance
        self.files = files  # what the files hold that the script has written
        self.begun = clock()
        self.tally = Tally()
        self.expected = FIRST_GUESS
        self.last_nested = self.last_outer = self.begun
        self.ends: dict[str, tuple[int, float]] = {}
        self.pause_until: dict[str, tuple[float, float]] = {}
        self.not_before = float("inf")
        self._plan_next()

    def entering(self, frame: LoopFrame, caller: FrameType) -> Callable[[Iterable[Any]], Iterator[Any]] | None:
        """Nothing is skipped while recording."""
        return None

    def boundary(self, frame: LoopFrame, caller: FrameType, now: float, index: int) -> bool:
        """A resume point, if the budget allows one by now."""
        if now >= self.not_before and index:
            self._resume_point(frame, caller, now, index)
        return True

    def leaving(self, frame: LoopFrame, caller: FrameType, now: float) -> None:
        """A memoized end state, if restoring it is worth more than running the loop again."""
        if now >= self.not_before and now - frame.begun > WORTH * self.expected and self._ends_allowed(frame, now):
            self._take(Key(self._execution(frame), None), frame, caller)

    def left(self, frame: LoopFrame, now: float) -> None:
        """Keep what this execution took."""
        seconds = now - frame.begun
        if seconds >= NOTED and frame.site.executions < 10_000:
            self.note(Note("loop", self._loop_facts(frame, seconds)))

    def probing(self, place: str, caller: FrameType) -> None:
        """There are no probes while recording."""

    def probed(self, place: str, caller: FrameType) -> None:
        """There are no probes while recording."""

    def _resume_point(self, frame: LoopFrame, caller: FrameType, now: float, index: int) -> None:
        """Take one at each outer iteration while these are few, then ever more rarely; in nested loops rarely."""
        elapsed = now - self.begun
        if frame is not self.session.stack[0]:
            half = affordable_from(self.tally.spent, self.expected, begun=self.begun, share=self.tolerance / 2)
            if now < half or now - self.last_nested < max(1.0, elapsed / NESTED_SHARE):
                return
            self.last_nested = now
        elif index > DENSE_POINTS and now - self.last_outer < elapsed / DENSE_POINTS:
            return
        else:
            self.last_outer = now
        self._take(Key(self._execution(frame), index), frame, caller)

    def _ends_allowed(self, frame: LoopFrame, now: float) -> bool:
        """Every end while there are not too many and they do not fill the disk, then ever more rarely."""
        loop = frame.site.loop
        count, last = self.ends.get(loop, (0, 0.0))
        written = self.writer.bytes_written if self.writer else 0
        if (count > DENSE_ENDS or written > DENSE_BYTES) and now - last < (now - self.begun) / DENSE_POINTS:
            self.tally.left_out["spared disk space"] += 1
            return False
        self.ends[loop] = (count + 1, now)
        return True

    def _take(self, key: Key, frame: LoopFrame, caller: FrameType) -> bool:
        """Capture and hand over; all that the training thread pays is measured."""
        if self.capturer is None or self.writer is None:
            return False
        place = f"{key.execution.loop}{'' if key.iteration is None else '@'}"
        begun = clock()
        if begun < self.pause_until.get(place, (0.0, 0.0))[0]:
            return False
        if not self.writer.ready():
            self.tally.left_out["the writer was busy"] += 1
            return False
        try:
            snapshot = self.capturer.capture(key, frame, caller)
            files = self.files()
        except Exception as error:  # never harm training
            self.writer.give_back()
            self.tally.left_out[f"capture failed: {type(error).__name__}: {error}"] += 1
            self._pause(place, begun)
            return False
        seconds = clock() - begun
        self.tally.spent += seconds
        self.expected = seconds
        self._plan_next()
        if snapshot.refusals:
            self.writer.give_back()
            for refusal in snapshot.refusals:
                self.tally.refusals.setdefault(place, str(refusal))
            self._pause(place, begun)
            return False
        self.tally.taken += 1
        self.writer.put(Pending(key, snapshot, seconds, files))
        return True

    def _pause(self, place: str, now: float) -> None:
        """Try a place that failed again only after twice the time."""
        wait = 2 * self.pause_until.get(place, (0.0, 0.25))[1]
        self.pause_until[place] = (now + wait, wait)

    def _plan_next(self) -> None:
        if self.capturer is not None and self.writer is not None and not self.writer.failed:
            self.not_before = affordable_from(self.tally.spent, self.expected, begun=self.begun, share=self.tolerance)
        else:
            self.not_before = float("inf")

    def _execution(self, frame: LoopFrame) -> Execution:
        return Execution(self._above(frame), frame.site.loop, frame.occurrence)

    def _above(self, frame: LoopFrame) -> Position:
        position = self.session.position()
        return position[: self.session.stack.index(frame)] if frame in self.session.stack else position

    def _loop_facts(self, frame: LoopFrame, seconds: float) -> dict[str, Any]:
        """By the time this is called the frame has been popped: the position is its parent's."""
        execution = Execution(self.session.position(), frame.site.loop, frame.occurrence)
        long = [round(duration, 6) for duration in frame.durations] if len(frame.durations) <= 20_000 else []
        return {
            **Key(execution, None).as_json(),
            "iterations": frame.begun_iterations,
            "seconds": seconds,
            "durations": long,
        }
