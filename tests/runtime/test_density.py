"""How densely checkpoints stand, by numbers alone."""

from __future__ import annotations

import pytest

from flor.runtime.budget import Budget
from flor.runtime.density import DENSE_BYTES, DENSE_ENDS, DENSE_POINTS, SMALL_POINTS, SMALL_RUN, Density
from flor.runtime.sites import Site

CHEAP = 1e-6  # seconds


def density(tolerance: float = 1 / 15, price: float = CHEAP) -> Density:
    return Density(Budget(tolerance, begun=0.0, next_price=price))


def test_each_of_the_first_iterations_is_a_resume_point() -> None:
    assert all(density().point_is_due(index, now=float(index), written=0) for index in range(1, SMALL_POINTS + 1))


@pytest.mark.parametrize(("written", "dense"), [(0, SMALL_POINTS), (SMALL_RUN, DENSE_POINTS)])
def test_after_them_one_comes_each_sixty_fourth_of_the_time_so_far(written: int, dense: int) -> None:
    found = density()
    found.last_outer = 1000.0
    assert found.point_is_due(dense, 1001.0, written)
    assert not found.point_is_due(dense + 1, 1001.0, written)
    assert found.point_is_due(dense + 1, 1016.0, written)


def test_every_end_is_due_until_there_are_many() -> None:
    found = density()
    found.ends["loop"] = DENSE_ENDS
    assert found.end_is_due("loop", 1000.0, 0)
    found.ends["loop"] += 1
    assert not found.end_is_due("loop", 1001.0, 0)
    assert found.end_is_due("other", 1001.0, 0)
    assert found.end_is_due("loop", 1016.0, 0)


def test_a_run_that_fills_the_disk_keeps_its_ends_rarely() -> None:
    found = density()
    assert found.end_is_due("loop", 1000.0, DENSE_BYTES)
    assert found.end_is_due("loop", 1001.0, DENSE_BYTES)
    assert not found.end_is_due("loop", 1002.0, DENSE_BYTES + 1)


@pytest.mark.parametrize(("lasted", "worth"), [(1.9, False), (2.1, True)])
def test_an_end_is_worth_more_than_saving_and_restoring_it(lasted: float, worth: bool) -> None:
    assert density(tolerance=2.0, price=1.0).end_is_worth(Site("loop", 0), lasted) is worth


def test_an_end_that_is_seldom_worth_its_price_is_held_to_the_joint_invariant() -> None:
    found, site = density(tolerance=0.1, price=1.0), Site("loop", 0)
    assert not found.end_is_worth(site, 9.0)
    assert found.end_is_worth(site, 11.0)
    found.ends["loop"] = 1
    assert not found.end_is_worth(site, 11.0)


def test_time_before_training_begins_is_not_counted() -> None:
    found = density()
    found.begin(500.0)
    assert found.budget.begun == found.last_nested == found.last_outer == 500.0
