"""Recording: which loops ran, for how long, and a checkpoint where one can be afforded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from types import FrameType
from typing import Any

from flor.model.checkpoints import FilesNow, Key
from flor.model.positions import Execution, Position
from flor.model.records import Note
from flor.runtime import current
from flor.runtime.admission import Admission
from flor.runtime.budget import MARGIN, Budget
from flor.runtime.capturing import Capturer
from flor.runtime.density import Density
from flor.runtime.hostmemory import memory_for_copies
from flor.runtime.policy import RESTORE_RATIO
from flor.runtime.session import Session
from flor.runtime.sites import LoopFrame, clock
from flor.runtime.slowdown import Slowdown
from flor.runtime.tally import Tally
from flor.runtime.writer import Pending, Writer
from flor.state import Answer, Memory, Snapshot
from flor.state.staging import Staging

NOTED = 5e-3  # seconds: shorter loop executions are only summed up
FIRST_GUESS = 5e-3  # seconds that the first look at the state is expected to cost
LOOK_AHEAD = 4 * FIRST_GUESS  # ... and may cost, if nothing is taken then
NEVER = float("inf")


class Recorder:
    """The conductor of a recorded run."""

    session: Session

    def __init__(
        self,
        note: Callable[[Note], None],
        capturer: Capturer | None,
        writer: Writer | None,
        tolerance: float,
        files: Callable[[], FilesNow] = FilesNow,
        restore_ratio: float = RESTORE_RATIO,
    ) -> None:
        self.note = note
        self.capturer = capturer
        self.writer = writer
        self.files = files  # what the files hold that the script has written
        self.tally = Tally()
        self.budget = Budget(tolerance, clock(), FIRST_GUESS)
        self.density = Density(self.budget, restore_ratio)
        self.slowdown = Slowdown()
        self.looping = self.prepared = self.looked = False
        self.awaited: Admission | None = None  # what has asked for memory that is not ready yet
        self.pause_until: dict[str, tuple[float, float]] = {}
        self.room = memory_for_copies() // 2 if capturer is not None else 0
        self.not_before = self.wake = NEVER
        self._plan_next()

    def entering(self, frame: LoopFrame, caller: FrameType) -> Callable[[Iterable[Any]], Iterator[Any]] | None:
        """Nothing is skipped while recording; time before the first loop is not training's."""
        if not self.looping:
            self.looping = True
            self.density.begin(clock())
            self._plan_next()
        return None

    def boundary(self, frame: LoopFrame, caller: FrameType, now: float, index: int) -> bool:
        """A resume point, if the budget allows one by now."""
        if now >= self.wake:
            if self.slowdown.watching:
                self._watch(frame, now)
            self._catch_up()
            if now >= self.not_before and index:
                self._resume_point(frame, caller, now, index)
            if not self.prepared:
                self._prepare(frame)
            elif not self.looked and self.budget.allows(LOOK_AHEAD, now):
                self._look_ahead(frame, caller, index)
        return True

    def leaving(self, frame: LoopFrame, caller: FrameType, now: float) -> None:
        """A memoized end state, if restoring it is worth more than running the loop again."""
        loop = frame.site.loop
        if now < self.not_before or not self.density.end_is_worth(frame.site, now - frame.begun):
            return
        if not self.density.end_is_due(loop, now, self._written):
            self.tally.left_out["spared disk space"] += 1
        elif self._take(Key(self._execution(frame), None), frame, caller):
            self.density.ends[loop] += 1

    def left(self, frame: LoopFrame, now: float) -> None:
        """Keep what this execution took."""
        seconds = now - frame.begun
        if seconds >= NOTED and frame.site.executions < 10_000:
            self.note(Note("loop", self._loop_facts(frame, seconds)))
            if not self.slowdown.watching:
                self.slowdown.learn(frame)

    def probing(self, place: str, caller: FrameType) -> None:
        """There are no probes while recording."""

    def probed(self, place: str, caller: FrameType) -> None:
        """There are no probes while recording."""

    def _resume_point(self, frame: LoopFrame, caller: FrameType, now: float, index: int) -> None:
        """Take one at each outer iteration while these are few, then ever more rarely; in nested loops rarely."""
        assert self.writer is not None
        outer, density = frame is self.session.stack[0], self.density
        if not (density.point_is_due(index, now, self._written) if outer else density.nested_point_is_due(now)):
            return
        if self.writer.busy and not self.budget.allows(self.budget.last_price, now):
            self.tally.left_out["the writer was busy"] += 1
            return  # nothing is known to be unchanged yet: it would cost as much as the one that is being written
        if outer:
            density.last_outer = now
        else:
            density.last_nested = now
        self._take(Key(self._execution(frame), index), frame, caller)

    def _prepare(self, frame: LoopFrame) -> None:
        """Let the writer find out what the first checkpoint needs to know, which the end of this loop may be."""
        self.prepared = True
        if self.capturer is not None and self.writer is not None and not self.tally.taken:
            capturer, loop = self.capturer, frame.site.loop
            self.writer.beside(lambda: capturer.prepare(loop))

    def _look_ahead(self, frame: LoopFrame, caller: FrameType, index: int) -> None:
        """Once, before the first checkpoint is due: see how much it will copy, so that memory is ready for it."""
        assert self.capturer is not None and self.writer is not None
        if self.writer.busy:  # it still prepares
            return
        self.looked = True
        if self.tally.taken or self.tally.left_out or self.writer.waits or self.writer.forks:
            return
        begun = clock()
        preview = Admission(self.budget, self.writer, self._staging, self.room, begun, preview=True)
        key = Key(self._execution(frame), index)
        with suppress(Exception):  # the checkpoint will meet it again, and say so
            self.capturer.capture(key, frame, caller, admit=preview, budget_nodes=self.budget.objects(begun))
        self._wait_for_memory(preview)
        self._pay(begun)

    def _wait_for_memory(self, admission: Admission) -> None:
        """If it has asked for memory, the next look is taken when there is some and its price can be paid."""
        if admission.awaits_memory:
            self.awaited = admission

    def _catch_up(self) -> None:
        """Take over what the writer's thread has found out: what preparing took, what a copy into its memory costs."""
        assert self.capturer is not None and self.writer is not None
        if self.writer.busy:
            return
        if effort := self.capturer.effort:  # beside training, which needs the interpreter too
            self.capturer.effort = 0.0
            self.tally.slowdown += effort
            self.budget.spend(effort)
            self._plan_next()
        if self.awaited is not None:
            self.budget.next_price = self.awaited.price_when_ready()
            self.awaited = None
            self._plan_next()

    def _take(self, key: Key, frame: LoopFrame, caller: FrameType, *, in_any_case: bool = False) -> bool:
        """Capture and hand over; all that the training thread pays is measured."""
        if self.capturer is None or self.writer is None:
            return False
        place = f"{key.execution.loop}{'' if key.iteration is None else '@'}"
        begun = clock()
        self._catch_up()
        if begun < self.not_before and not in_any_case:
            return False
        if begun < self.pause_until.get(place, (0.0, 0.0))[0]:
            return False
        if not self.writer.ready():
            self.tally.left_out["the writer was busy"] += 1
            return False
        budget = Budget(NEVER, begun, 0.0) if in_any_case else self.budget
        admission = Admission(budget, self.writer, self._staging, self.room, begun, self._may_wait)
        snapshot = None
        try:
            objects = budget.objects(begun)
            snapshot = self.capturer.capture(key, frame, caller, admit=admission, budget_nodes=objects)
            files = self.files()
        except BaseException as error:
            if snapshot is not None:
                snapshot.release()
            if not isinstance(error, Exception):  # Ctrl-C is the script's, and it may go on after it
                self.writer.give_back()
                raise
            return self._not_taken(place, begun, f"capture failed: {type(error).__name__}: {error}", pause=True)
        if snapshot.declined:
            self._wait_for_memory(admission)
            return self._not_taken(place, begun, admission.reason, pause=admission.walked == 0.0)
        if snapshot.refusals:
            for refusal in snapshot.refusals:
                self.tally.refusals.setdefault(place, str(refusal))
            return self._not_taken(place, begun, None, pause=True)
        self._hand_over(key, snapshot, files, admission)
        return True

    def _hand_over(self, key: Key, snapshot: Snapshot, files: FilesNow, admission: Admission) -> None:
        """Give the snapshot to the writer, and account for it."""
        assert self.writer is not None
        begun, prices = admission.begun, self.budget.prices
        prices.walked(len(snapshot.nodes), admission.walked)
        waits = self.writer.waits or (admission.answer is Answer.LOOK and not self.writer.forks)
        expected = 0.0 if waits else prices.slowdown(admission.demand.nbytes)
        inputs = current.inputs.count if current.inputs is not None else 0
        pending = Pending(key, snapshot, clock() - begun + expected, files, inputs)
        (self.writer.put_now if waits else self.writer.put)(pending)
        stall = clock() - begun
        seconds = stall - admission.walked
        prices.streamed(admission.demand, seconds) if waits else prices.copied(admission.at_once, seconds)
        if not waits:
            self.slowdown.begin(self.session.stack, begun, stall, expected)
        self.tally.taken += 1
        self.tally.late += admission.answer is Answer.LATE
        self.tally.stall += stall
        self.budget.spend(stall)
        self.budget.taken(stall, expected)
        if self.tally.taken == 1:  # the first holds everything; what the next one holds is seen when it is looked at
            self.budget.next_price = MARGIN * admission.walked
        self._plan_next()

    def _may_wait(self) -> bool:
        """True if copies may be made beside training: no code is known that could change them meanwhile unseen."""
        assert self.capturer is not None
        memory = self.capturer.memory
        return memory is not None and self.capturer.all_is_seen() and memory.barrier.usable()

    def _not_taken(self, place: str, begun: float, reason: str | None, *, pause: bool) -> bool:
        """The look that was taken is paid for; a place that failed is tried again only after twice the time."""
        assert self.writer is not None
        self.writer.give_back()
        if reason is not None:
            self.tally.left_out[reason] += 1
        if pause:
            wait = 2 * self.pause_until.get(place, (0.0, 0.25))[1]
            self.pause_until[place] = (begun + wait, wait)
        self._pay(begun)
        return False

    def _pay(self, begun: float) -> None:
        """A look that took nothing has cost training the time since then."""
        seconds = clock() - begun
        self.tally.stall += seconds
        self.budget.spend(seconds)
        self._plan_next()

    @property
    def _staging(self) -> Staging:
        """Where copies go."""
        memory = self.capturer.memory if self.capturer is not None else None
        return (memory or Memory()).staging

    @property
    def _written(self) -> int:
        """Bytes of the run's packs."""
        return self.writer.ledger.bytes_written if self.writer is not None else 0

    def _watch(self, frame: LoopFrame, now: float) -> None:
        """An iteration has ended while something was written, or the first one after it."""
        assert self.writer is not None and self.capturer is not None
        if self.capturer.memory is not None:
            self.capturer.memory.barrier.pass_by()
        if frame is self.session.stack[-1]:
            self.slowdown.iteration(frame, now)
        while self.slowdown.watching and (write := self.writer.finished()) is not None:
            expected, lost = self.slowdown.end(write)
            self.budget.settled(expected, lost)
            self.budget.prices.slowed(write.nbytes, lost)
            self.tally.slowdown += max(0.0, lost)
            self._plan_next()

    def _plan_next(self) -> None:
        able = self.capturer is not None and self.writer is not None and not self.writer.failed
        self.not_before = self.budget.from_when(self.budget.next_price) if able else NEVER
        self.wake = 0.0 if self.slowdown.watching or self.awaited is not None else self.not_before

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
