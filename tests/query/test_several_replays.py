"""What several replays of one run have found is said once."""

from __future__ import annotations

from collections.abc import Iterable

from flor.query.rows import Row
from flor.query.runs import _each_once


def replay(name: str, *values: tuple[int, float], statement: str = "train.py:9") -> list[Row]:
    return [Row("norm", value, "flor", f"epoch={at}", (), statement, 0.0, 0, "hindsight", name) for at, value in values]


def found(rows: Iterable[Row]) -> list[tuple[str | None, str, float]]:
    return [(row.replay, row.position, row.value) for row in rows]


def test_values_that_two_replays_found_alike_are_the_newest_ones() -> None:
    first, second = replay("a", (0, 1.0), (1, 2.0)), replay("b", (1, 2.0), statement="train.py:10")
    assert found(_each_once([first, second])) == [("a", "epoch=0", 1.0), ("b", "epoch=1", 2.0)]


def test_values_that_differ_are_all_shown() -> None:
    first, second = replay("a", (0, 1.0)), replay("b", (0, 1.5))
    assert found(_each_once([first, second])) == [("a", "epoch=0", 1.0), ("b", "epoch=0", 1.5)]


def test_a_value_that_was_logged_twice_at_one_place_stays_twice() -> None:
    first, second = replay("a", (0, 1.0), (0, 1.0), (0, 1.0)), replay("b", (0, 1.0), (0, 1.0))
    assert found(_each_once([first, second])) == [("a", "epoch=0", 1.0)] + 2 * [("b", "epoch=0", 1.0)]
