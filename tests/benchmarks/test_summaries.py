from __future__ import annotations

import math

import fig05_record_overhead as fig05
import fig06_adaptivity as fig06
import fig09_replay_latency as fig09
import fig10_parallel as fig10
import pytest
from summaries import beyond_start, exponent, parts_of, spread

from tests.benchmarks.measurements import latency, overheads


def test_the_exponent_of_a_square_is_two() -> None:
    assert exponent({n: 3.0 * n**2 for n in (10, 100, 1000)}) == pytest.approx(2)


def test_the_exponent_is_fitted_to_the_larger_sizes_only() -> None:
    costs = {10: 5.0, 1000: 1.0, 10_000: 10.0}
    assert exponent(costs, least=1000) == pytest.approx(1)


def test_one_point_has_no_exponent() -> None:
    assert math.isnan(exponent({1000: 1.0}))


def test_a_cost_that_is_noise_is_left_out_of_the_fit() -> None:
    assert exponent({1: -0.1, 10: 1.0, 100: 10.0}) == pytest.approx(1)


def test_start_up_is_what_the_smallest_size_costs() -> None:
    assert beyond_start({1: 0.5, 10: 0.75}) == {10: 0.25}


def test_the_worker_with_the_most_of_200_epochs_has_13() -> None:
    assert parts_of(200, 16) == 13


def test_one_measurement_has_no_spread() -> None:
    assert spread([1.0]) == "1.00"
    assert spread([1.0, 3.0, 2.0]) == "1.00 to 3.00"


def test_figure_5_tells_the_mean_and_the_worst_of_each_way() -> None:
    results = {"rte": overheads(flor=[10.5, 10.5], by_hand=[15, 15]), "cifr": overheads(flor=[10.1], by_hand=[10])}
    found = fig05.summarize(results)
    assert found["flor"]["mean"] == pytest.approx(3)
    assert found["flor"]["highest_name"] == "rte"
    assert found["by_hand"]["highest"] == pytest.approx(50)


def test_figure_5_leaves_out_a_workload_that_is_not_measured_in_every_way() -> None:
    results = {"rte": overheads(flor=[10.5], by_hand=[15]), "cifr": overheads(flor=[20])}
    assert fig05.measured(results, fig05.WAYS) == ["rte"]


def test_figure_6_names_who_is_over_the_tolerance_it_was_given() -> None:
    results = {"rte": overheads(flor=[10.5], off=[19], two=[10.3], one=[10.05])}
    found = fig06.summarize(results)
    assert found["over"] == "rte (flor 2 %)"
    assert found["highest_off"] == pytest.approx(90)


def test_figure_9_shows_the_speed_up_with_and_without_start_up() -> None:
    row = latency(full=22.0, outer=4.0, inner=12.0)
    assert fig09.speedup(row, "outer") == pytest.approx(5.5)
    assert fig09.speedup_of_training(row, "outer") == pytest.approx(10)
    assert fig09.summarize([row])["inner_training"]["mean"] == pytest.approx(2)


def test_a_replay_of_next_to_nothing_is_not_infinitely_fast() -> None:
    assert fig09.speedup_of_training(latency(full=12.0, outer=1.9, inner=7), "outer") == pytest.approx(100)


def test_the_ideal_of_figure_10_counts_whole_epochs() -> None:
    found = fig10.fractions(latency(full=22.0, outer=4.0, inner=12.0, epochs=7))
    assert found["ideal"] == pytest.approx(100 * 4 / 7)
    assert found["training"] == pytest.approx(50)
