"""Which checkpoints a recorder takes, by a clock of our own: training takes the time that it says."""

from __future__ import annotations

import ast
import random
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

from flor.model.checkpoints import Key
from flor.model.records import Note
from flor.runtime import current, hooks, recording, session, sites
from flor.runtime.policy import overhead
from flor.runtime.recording import Recorder
from flor.runtime.session import Session
from flor.runtime.sites import LoopFrame
from flor.source.instrument import instrument


@dataclass
class Clock:
    """Time that goes on only when it is told to."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@dataclass
class Taken(Recorder):
    """A recorder whose checkpoints all cost the same and go nowhere."""

    clock: Clock
    cost: float
    tolerance: float
    effort: float = 0.0
    differs: Callable[[], float] = lambda: 1.0
    keys: list[Key] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    prepared_at: list[float] = field(default_factory=list)
    looked_at: list[float] = field(default_factory=list)
    overheads: list[float] = field(default_factory=list)  # after each

    def __post_init__(self) -> None:
        writer: Any = SimpleNamespace(
            failed=False,
            ledger=SimpleNamespace(bytes_written=0),
            beside=lambda _: self.prepared_at.append(self.clock.now),
            busy=False,
            waits=False,
            forks=False,
        )
        looks: Any = SimpleNamespace(
            memory=None, effort=self.effort, capture=lambda *_, **__: self.looked_at.append(self.clock.now)
        )
        super().__init__(lambda _: None, looks, writer, self.tolerance)
        self.session = Session(lambda _: 0, self)

    def _take(self, key: Key, frame: LoopFrame, caller: FrameType, *, in_any_case: bool = False) -> bool:
        self.keys.append(key)
        self.times.append(self.clock.now)
        cost = self.cost * self.differs()
        self.clock.sleep(cost)
        self.budget.spend(cost)
        self.budget.taken(cost, 0.0)
        self.overheads.append(overhead(self.budget.spent, self.clock.now - self.budget.begun))
        self._plan_next()
        return True

    def train(self, text: str, sleep_first: float = 0.0) -> None:
        """Run a text with our calls in it; `sleep` in it takes no time but the clock's."""
        self.clock.sleep(sleep_first)
        tree = instrument(ast.parse(textwrap.dedent(text)), "t.py")
        current.session = self.session
        try:
            exec(compile(tree, "t.py", "exec"), {"_flor": hooks, "sleep": self.clock.sleep})
        finally:
            current.session = None

    @property
    def points(self) -> list[tuple[str, int]]:
        """Loop and iteration of each resume point."""
        return [(key.execution.loop[-2:], key.iteration) for key in self.keys if key.iteration is not None]

    @property
    def memoized(self) -> list[str]:
        """Loop of each memoized end."""
        return [key.execution.loop[-2:] for key in self.keys if key.iteration is None]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    for module in (recording, session, sites):
        monkeypatch.setattr(module, "clock", made)
    return made


NESTED = """
for epoch in range({epochs}):
    for step in range({steps}):
        sleep({seconds})
"""


def test_time_before_the_first_loop_earns_no_checkpoint(clock: Clock) -> None:
    recorder = Taken(clock, cost=1.0, tolerance=0.1)
    recorder.budget.next_price = 1.0
    recorder.train("for epoch in range(20):\n    sleep(1)\n", sleep_first=1000)
    assert recorder.budget.begun == 2000.0
    assert len(recorder.keys) == 1
    assert recorder.times[0] >= 2000 + 1 / recorder.budget.share


def test_the_sum_of_what_is_taken_stays_within_the_tolerance(clock: Clock) -> None:
    recorder = Taken(clock, cost=0.5, tolerance=0.05)
    recorder.train(NESTED.format(epochs=50, steps=20, seconds=0.2))
    assert len(recorder.keys) > 5
    assert recorder.budget.spent <= 0.05 * 50 * 20 * 0.2


def test_at_no_moment_of_a_thousand_random_trainings_the_sum_is_above_the_tolerance(clock: Clock) -> None:
    source, taken = random.Random(5), 0
    for _ in range(1000):
        cost, tolerance = 10 ** source.uniform(-3, 1), source.choice([1 / 15, 0.02, 0.01, 0.3])
        recorder = Taken(clock, cost, tolerance, differs=lambda: source.uniform(0.9, 1.1))
        recorder.budget.next_price = 1.1 * cost
        size = {"epochs": source.randrange(1, 30), "steps": source.randrange(1, 12)}
        recorder.train(NESTED.format(**size, seconds=10 ** source.uniform(-2, 1)))
        taken += len(recorder.keys)
        assert max(recorder.overheads, default=0.0) <= tolerance, (cost, tolerance, size)
    assert taken > 5000


def test_where_ends_are_kept_resume_points_beside_them_wait_ten_seconds(clock: Clock) -> None:
    recorder = Taken(clock, cost=0.001, tolerance=1 / 15)
    recorder.train(NESTED.format(epochs=30, steps=10, seconds=0.1))
    assert recorder.memoized.count("#1") == 30
    assert {epoch for loop, epoch in recorder.points if loop == "#0"} == set(range(10, 30))


def test_where_overhead_is_no_matter_they_do_not_wait(clock: Clock) -> None:
    recorder = Taken(clock, cost=0.001, tolerance=float("inf"))
    recorder.train(NESTED.format(epochs=8, steps=10, seconds=0.1))
    assert {epoch for loop, epoch in recorder.points if loop == "#0"} == set(range(1, 8))


def test_dear_points_beside_ends_come_each_quarter_of_the_time_so_far(clock: Clock) -> None:
    recorder = Taken(clock, cost=0.2, tolerance=1 / 15)
    recorder.train(NESTED.format(epochs=100, steps=10, seconds=1.0))
    outer = [epoch for loop, epoch in recorder.points if loop == "#0"]
    assert len(recorder.memoized) > 90
    assert len(outer) < 25
    assert all(after >= 1.25 * before for before, after in pairwise(outer) if before > 10)


@pytest.mark.parametrize(("tolerance", "least"), [(1 / 15, 5.0), (float("inf"), 1.0)])
def test_resume_points_within_a_nested_loop_keep_their_distance(clock: Clock, tolerance: float, least: float) -> None:
    recorder = Taken(clock, cost=0.001, tolerance=tolerance)
    recorder.train(NESTED.format(epochs=1, steps=600, seconds=0.1))
    times = [time for key, time in zip(recorder.keys, recorder.times, strict=True) if key.execution.loop.endswith("#1")]
    gaps = [after - before for before, after in pairwise(times)]
    assert len(gaps) > 5
    assert min(gaps[:-1]) >= least - 1e-6  # the last is the loop's end
    assert max(gaps[:5]) < least + 1


def test_iterations_that_go_by_in_chunks_are_noted_one_by_one(clock: Clock) -> None:
    recorder = Taken(clock, cost=0.001, tolerance=0.0)
    notes: list[Note] = []
    recorder.note = notes.append
    recorder.train("for step in range(3000): sleep(0.00001 if step < 2900 else 0.1)")
    (durations,) = (note.values["durations"] for note in notes)
    assert len(durations) == 3000
    assert sum(durations[:2000]) == pytest.approx(0.02, rel=0.01)
    assert sum(durations) == pytest.approx(10.029, rel=0.01)


def test_without_a_tolerance_nothing_is_taken(clock: Clock) -> None:
    recorder = Taken(clock, cost=0.001, tolerance=0.0)
    recorder.train(NESTED.format(epochs=5, steps=10, seconds=1.0))
    assert recorder.keys == []


def test_what_the_first_checkpoint_asks_is_found_out_before_the_first_loop_ends(clock: Clock) -> None:
    recorder = Taken(clock, cost=0.001, tolerance=1 / 15)
    recorder.train(NESTED.format(epochs=3, steps=10, seconds=0.1))
    (prepared,) = recorder.prepared_at
    assert 1000.1 <= prepared < recorder.times[0]


def test_memory_is_asked_for_once_before_the_first_loop_ends(clock: Clock) -> None:
    recorder = Taken(clock, cost=0.001, tolerance=1 / 15)
    recorder.train(NESTED.format(epochs=3, steps=10, seconds=0.1))
    (looked,) = recorder.looked_at
    assert recorder.prepared_at[0] < looked < recorder.times[0]


def test_what_it_took_to_prepare_is_earned_before_memory_is_asked_for(clock: Clock) -> None:
    recorder = Taken(clock, cost=0.001, tolerance=1 / 15, effort=0.1)
    recorder.train(NESTED.format(epochs=1, steps=100, seconds=0.1))
    (looked,) = recorder.looked_at
    assert looked - recorder.budget.begun >= 0.1 / recorder.budget.share
    assert recorder.tally.slowdown == 0.1


def test_after_memory_was_asked_for_nobody_looks_before_the_price_can_be_paid(clock: Clock) -> None:
    recorder = Taken(clock, cost=0.001, tolerance=1 / 15)
    asked: Any = SimpleNamespace(awaits_memory=True, price_when_ready=lambda: 0.2)
    recorder._wait_for_memory(asked)
    recorder.train(NESTED.format(epochs=1, steps=100, seconds=0.1))
    assert recorder.times[0] - recorder.budget.begun >= 0.2 / recorder.budget.share


@pytest.mark.parametrize(("busy", "points"), [(True, 0), (False, 19)])
def test_beside_a_write_a_resume_point_is_as_dear_as_what_is_written(clock: Clock, busy: bool, points: int) -> None:
    recorder = Taken(clock, cost=0.001, tolerance=1 / 15)
    writer: Any = recorder.writer
    writer.busy, recorder.budget.last_price = busy, 100.0
    recorder.train("for epoch in range(20): sleep(1)")
    assert len(recorder.points) == points


def test_for_loops_that_are_over_at_once_nothing_is_found_out(clock: Clock) -> None:
    recorder = Taken(clock, cost=0.001, tolerance=1 / 15)
    recorder.train(NESTED.format(epochs=3, steps=10, seconds=0.0001))
    assert recorder.prepared_at == []
