"""Which runs and checkpoints go, by which rule."""

from __future__ import annotations

import pytest
from checkpointed import BULK, CheckpointedRun, trained
from hypothesis import given
from hypothesis import strategies as st

from flor.errors import NoSuchRun, UsageError
from flor.store.layout import Layout
from flor.store.names import propose
from flor.store.retention.amounts import parse_age, parse_size, size_text
from flor.store.retention.gc import Retention, carry_out, plan_retention
from flor.store.retention.references import HeldCheckpoint
from flor.store.retention.rules import Rules, every, is_proposed
from flor.store.run import list_runs

DAY = 86_400.0


def now(layout: Layout, *, days: float = 0.0) -> float:
    """The moment at which the first run began, and so much later."""
    return list_runs(layout)[0].created() / 1e9 + days * DAY + 1


def plan(layout: Layout, rules: Rules, *, days: float = 0.0) -> Retention:
    return plan_retention(layout, rules, now(layout, days=days))


def removed(found: Retention) -> list[str]:
    return [verdict.holding.name for verdict in found.verdicts if verdict.removed]


def kept(found: Retention, name: str) -> int:
    (verdict,) = [each for each in found.verdicts if each.holding.name == name]
    return len(verdict.holding.checkpoints) - len(verdict.sweep.dropped)


def announced(count: int, loop: str = "a", is_end: bool = False) -> list[HeldCheckpoint]:
    return [HeldCheckpoint(f"{loop}{i}", loop, is_end, f"{loop}@{i}{is_end}", frozenset()) for i in range(count)]


@pytest.fixture
def three(layout: Layout) -> Layout:
    for name in ("first", "second", "third"):
        trained(layout, name, 9)
    return layout


def test_without_a_rule_nothing_that_counts_goes(three: Layout) -> None:
    found = plan(three, Rules(), days=1000)
    assert removed(found) == [] and found.frees == 0


def test_the_last_runs_are_kept(three: Layout) -> None:
    assert removed(plan(three, Rules(keep_last=1))) == ["first", "second"]
    assert removed(plan(three, Rules(keep_last=0))) == ["first", "second", "third"]
    assert removed(plan(three, Rules(keep_last=9))) == []


def test_a_run_goes_only_if_every_rule_about_runs_lets_it_go(three: Layout) -> None:
    old = Rules(older_than=30 * DAY)
    assert removed(plan(three, old, days=29)) == []
    assert removed(plan(three, old, days=31)) == ["first", "second", "third"]
    assert removed(plan(three, Rules(older_than=30 * DAY, keep_last=2), days=31)) == ["first"]


def test_checkpoints_only_leaves_the_logs(three: Layout) -> None:
    found = plan(three, Rules(keep_last=1, checkpoints_only=True))
    assert removed(found) == []
    assert [kept(found, name) for name in ("first", "second", "third")] == [0, 0, 9]


@pytest.mark.parametrize(
    "rules",
    [
        Rules(keep_last=0, keep=("fi*",)),
        Rules(keep_last=0, keep_tags=("paper",)),
        Rules(keep_last=0, keep_tags=("a=1",)),
    ],
)
def test_what_the_user_protects_stays_as_it_is(layout: Layout, rules: Rules) -> None:
    trained(layout, "first", 3, tags=("paper=2024", "a=1"))
    trained(layout, "second", 3)
    assert removed(plan(layout, rules)) == ["second"]


def test_named_runs_can_be_kept(layout: Layout) -> None:
    trained(layout, "brave-otter", 1)
    trained(layout, "my-baseline", 1)
    assert removed(plan(layout, Rules(keep_last=0, keep_named=True))) == ["brave-otter"]


def test_every_name_of_ours_is_known_as_such() -> None:
    assert all(is_proposed(propose(numbered=number % 2 == 0)) for number in range(100))
    assert not any(map(is_proposed, ("brave", "brave-", "brave-otter-x", "otter-brave", "run1")))


def test_rules_can_be_about_some_runs_only(three: Layout) -> None:
    assert removed(plan(three, Rules(keep_last=0, only=("second",)))) == ["second"]
    with pytest.raises(NoSuchRun, match="secnd"):
        plan(three, Rules(only=("secnd",)))


def test_every_kth_and_the_first_and_the_last_are_kept() -> None:
    found = every(announced(10), announced(10), 4)
    assert [each.graph for each in found] == ["a0", "a4", "a8", "a9"]


def test_each_loop_and_its_ends_are_counted_apart() -> None:
    both = [*announced(5), *announced(5, "b", is_end=True)]
    assert [each.graph for each in every(both, both, 3)] == ["a0", "a3", "a4", "b0", "b3", "b4"]


def test_ranks_keep_the_same_moments() -> None:
    ranks = [*announced(7), *announced(7)[1:]]
    assert [each.graph for each in every(ranks, ranks, 3)] == ["a0", "a3", "a6", "a3", "a6"]


@given(st.integers(0, 60), st.lists(st.integers(1, 12), min_size=1, max_size=5))
def test_thinning_twice_by_the_same_step_drops_nothing_more(count: int, steps: list[int]) -> None:
    series = announced(count)
    left = series
    for step in steps:
        left = every(series, left, step)
        assert every(series, left, step) == left
        assert left[:1] == series[:1] and left[-1:] == series[-1:]


def test_a_size_limit_thins_the_oldest_runs_first(three: Layout) -> None:
    size = sum(verdict.holding.size for verdict in plan(three, Rules()).verdicts)
    found = plan(three, Rules(max_size=size - 3 * BULK))
    assert [kept(found, name) for name in ("second", "third")] == [9, 9]
    assert 0 < kept(found, "first") < 9
    assert sum(verdict.holding.size - verdict.frees for verdict in found.verdicts) <= size - 3 * BULK


def test_a_size_limit_never_takes_a_log_or_all_of_the_latest_run(three: Layout) -> None:
    found = plan(three, Rules(max_size=1))
    assert removed(found) == []
    assert [kept(found, name) for name in ("first", "second", "third")] == [0, 0, 2]


def test_a_size_limit_counts_what_other_rules_free(three: Layout) -> None:
    size = plan(three, Rules()).verdicts[0].holding.size
    found = plan(three, Rules(keep_last=1, max_size=size + 100))
    assert removed(found) == ["first", "second"] and kept(found, "third") == 9


def test_what_was_said_is_what_is_freed(three: Layout) -> None:
    before = sum(path.stat().st_size for path in three.root.rglob("*") if path.is_file())
    rules = Rules(keep_every=4, keep=("third",))
    found = carry_out(three, rules, now(three))
    after = sum(path.stat().st_size for path in three.root.rglob("*") if path.is_file())
    assert found.frees == pytest.approx(before - after, abs=5000)  # headers, and the journal of what was dropped
    assert carry_out(three, rules, now(three)).frees == 0


def test_an_empty_blob_costs_nothing_to_keep(layout: Layout) -> None:
    run = CheckpointedRun(layout, "r")
    run.add()
    run.add()
    run.end()
    assert kept(plan(layout, Rules(keep_every=1)), "r") == 2


@pytest.mark.parametrize(
    ("text", "size"),
    [("10GB", 10**10), ("1.5 gib", 3 * 2**29), ("500M", 5 * 10**8), ("7", 7), ("2k", 2000), ("3 TB", 3 * 10**12)],
)
def test_sizes_are_read_as_people_write_them(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "10XB", "1e9", "ten"])
def test_what_is_no_size_is_said(text: str) -> None:
    with pytest.raises(UsageError, match="is not a size"):
        parse_size(text)


def test_ages_are_read_as_people_write_them() -> None:
    assert [parse_age(text) for text in ("90s", "2min", "12h", "30d", "2W")] == [90, 120, 43200, 30 * DAY, 14 * DAY]
    with pytest.raises(UsageError):
        parse_age("30 moons")


def test_sizes_are_written_as_people_read_them() -> None:
    assert [size_text(size) for size in (0, 999, 1500, 10**10, 10**13)] == [
        "0 B",
        "999 B",
        "1.5 kB",
        "10.0 GB",
        "10.0 TB",
    ]
