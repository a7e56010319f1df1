"""When to checkpoint: the paper's equations with its constants, and a budget that is never exceeded."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flor.runtime.budget import LEAST, SEEN, UNSEEN, Budget
from flor.runtime.policy import (
    BlockCosts,
    affordable_from,
    keeps_record_overhead,
    keeps_replay_latency,
    overhead,
    should_checkpoint,
)

C, EPSILON = 1.38, 0.0667  # the paper's


def test_the_record_overhead_invariant_is_equation_1() -> None:
    """k M < n eps C: at C = 100 s one checkpoint an execution may take 6.67 s."""
    always = BlockCosts(materialize=6.6, compute=100, executions=10, checkpoints=10)
    assert keeps_record_overhead(always, tolerance=EPSILON)
    assert not keeps_record_overhead(replace(always, materialize=6.7), tolerance=EPSILON)
    assert keeps_record_overhead(replace(always, materialize=6.7, checkpoints=9), tolerance=EPSILON)


def test_the_replay_latency_invariant_is_equation_3() -> None:
    """M (1 + c) < n / k C: at c = 1.38 saving may take 1 / 2.38 of computing."""
    always = BlockCosts(materialize=0.42, compute=1, executions=10, checkpoints=10)
    assert keeps_replay_latency(always, restore_ratio=C)
    assert not keeps_replay_latency(replace(always, materialize=0.43), restore_ratio=C)
    assert keeps_replay_latency(replace(always, materialize=0.43), restore_ratio=1.0)


def test_the_joint_invariant_is_equation_4() -> None:
    """M / C < n / (k + 1) min(1 / (1 + c), eps)."""
    costs = BlockCosts(materialize=1.0, compute=15.0, executions=1, checkpoints=0)
    assert should_checkpoint(costs, tolerance=EPSILON, restore_ratio=C)
    assert not should_checkpoint(replace(costs, compute=14.9), tolerance=EPSILON, restore_ratio=C)
    assert not should_checkpoint(replace(costs, checkpoints=1), tolerance=EPSILON, restore_ratio=C)
    assert should_checkpoint(replace(costs, executions=3, checkpoints=1), tolerance=EPSILON, restore_ratio=C)


def test_a_generous_tolerance_leaves_the_replay_latency_to_decide() -> None:
    costs = BlockCosts(materialize=1.0, compute=2.5, executions=1, checkpoints=0)
    assert should_checkpoint(costs, tolerance=10.0, restore_ratio=C)
    assert not should_checkpoint(replace(costs, compute=2.3), tolerance=10.0, restore_ratio=C)


@given(
    st.builds(
        BlockCosts,
        materialize=st.floats(1e-3, 1e3),
        compute=st.floats(1e-3, 1e3),
        executions=st.integers(1, 1000),
        checkpoints=st.integers(0, 1000),
    ),
    st.floats(0.001, 1),
    st.floats(0, 100),
)
def test_the_joint_invariant_keeps_both_others_after_the_checkpoint(
    costs: BlockCosts, tolerance: float, c: float
) -> None:
    if should_checkpoint(costs, tolerance=tolerance, restore_ratio=c):
        after = replace(costs, checkpoints=costs.checkpoints + 1)
        assert keeps_record_overhead(after, tolerance=tolerance * (1 + 1e-9))
        assert keeps_replay_latency(after, restore_ratio=c * (1 - 1e-9))


def test_overhead_is_a_share_of_the_programs_own_time() -> None:
    assert overhead(spent=1.0, elapsed=16.0) == pytest.approx(1 / 15)


def test_what_was_spent_is_made_up_for_before_more_is() -> None:
    moment = affordable_from(2.0, 1.0, begun=100.0, share=0.1)
    assert moment == pytest.approx(100 + 2 + 30)
    assert overhead(2.0 + 1.0, moment + 1.0 - 100) == pytest.approx(0.1)


def test_without_a_tolerance_there_is_no_checkpoint_and_without_a_limit_always_one() -> None:
    assert affordable_from(0.0, 1.0, begun=0.0, share=0.0) == float("inf")
    assert affordable_from(9.0, 1.0, begun=5.0, share=float("inf")) == 5.0


class Run:
    """A run with a clock of its own: iterations, and checkpoints whose price is known roughly."""

    def __init__(self, tolerance: float, compute: float, materialize: float, source: random.Random) -> None:
        self.now = 0.0
        self.source = source
        self.compute, self.materialize = compute, materialize
        self.budget = Budget(tolerance, begun=0.0, next_price=0.005)
        self.taken = 0

    def iterate(self) -> None:
        self.now += self.compute * self.source.uniform(0.5, 1.5)
        if not self.budget.allows(self.budget.next_price, self.now):
            return
        cost = self.materialize * self.source.uniform(0.8, 1.2)
        price = self.materialize  # what the bytes to copy let expect
        if not self.budget.allows(price, self.now):
            self.budget.next_price = price
            return
        stall = cost / 2
        self.now += cost
        self.budget.spend(stall)
        self.budget.taken(stall, price / 2)
        self.budget.settled(price / 2, cost - stall)
        self.taken += 1

    @property
    def overhead(self) -> float:
        return overhead(self.budget.spent, self.now)


def test_the_overhead_is_never_above_the_tolerance_in_a_thousand_random_schedules() -> None:
    source = random.Random(7)
    taken = 0
    for _ in range(1000):
        tolerance = source.choice([1 / 15, 0.02, 0.01, 0.3])
        compute, materialize = 10 ** source.uniform(-3, 2), 10 ** source.uniform(-3, 2)
        run = Run(tolerance, compute, materialize, source)
        for _ in range(source.randrange(1, 200)):
            run.iterate()
            assert run.overhead <= tolerance, (tolerance, compute, materialize)
        taken += run.taken
    assert taken > 10_000


def test_a_cheap_checkpoint_is_taken_at_every_iteration() -> None:
    run = Run(1 / 15, compute=10.0, materialize=0.05, source=random.Random(1))
    for _ in range(50):
        run.iterate()
    assert run.taken == 50


def test_a_dear_checkpoint_is_taken_as_often_as_it_can_be_paid() -> None:
    run = Run(1 / 15, compute=1.0, materialize=1.0, source=random.Random(1))
    for _ in range(1000):
        run.iterate()
    assert 40 <= run.taken <= 67


def test_a_first_checkpoint_that_costs_much_is_made_up_for() -> None:
    budget = Budget(0.1, begun=0.0, next_price=0.005)
    budget.spend(10.0)
    budget.taken(stall=10.0, slowdown=0.0)
    budget.next_price = 0.1  # the second one copies little
    earned = 10.0 + 10.1 / budget.share  # its own time, and the time that pays for both
    assert not budget.allows(0.1, now=earned - 1)
    assert budget.allows(0.1, now=earned + 1)


def test_what_is_not_seen_is_kept_back_from_any_tolerance() -> None:
    shares = {tolerance: Budget(tolerance, begun=0.0, next_price=0.0).share for tolerance in (0.001, 0.01, 0.3)}
    assert shares[0.3] == pytest.approx(0.3 * SEEN - UNSEEN)
    assert shares[0.01] == pytest.approx(0.01 * SEEN - UNSEEN)
    assert shares[0.001] == pytest.approx(0.001 * LEAST)
    assert Budget(float("inf"), begun=0.0, next_price=0.0).share == float("inf")


def test_an_expected_slowdown_counts_until_it_is_known() -> None:
    budget = Budget(0.1, begun=0.0, next_price=0.0)
    budget.taken(stall=1.0, slowdown=2.0)
    assert budget.total == 2.0
    budget.settled(expected=2.0, slowdown=0.5)
    assert budget.total == 0.5


def test_a_walk_may_meet_as_many_objects_as_can_be_paid() -> None:
    budget = Budget(0.05, begun=0.0, next_price=0.0)
    assert budget.objects(now=0.0) == 500
    assert budget.objects(now=100.0) == pytest.approx(budget.share * 100 / budget.prices.walk, rel=0.01)
    assert Budget(10.0, begun=0.0, next_price=0.0).objects(now=0.0) is None
