"""Where the main loop is cut: the last worker is done soonest, judged by trying all cuts."""

from __future__ import annotations

from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from flor.replay.cutting import AS_GOOD, WORTHWHILE, best_cuts


def lasts(cuts: tuple[int, ...] | list[int], durations: list[float], ways: list[float]) -> float:
    """Seconds until the last worker is done."""
    places = [0, *cuts, len(durations)]
    return max(ways[begin] + sum(durations[begin:end]) for begin, end in pairwise(places))


iterations = st.lists(st.tuples(st.floats(0.01, 10), st.floats(0, 30)), min_size=1, max_size=9)


@given(iterations, st.integers(1, 4))
def test_no_other_cuts_would_be_much_better(iterations: list[tuple[float, float]], workers: int) -> None:
    durations, ways = [a for a, _ in iterations], [0.0, *(b for _, b in iterations[1:])]
    places = range(1, len(durations))
    least = min(
        lasts(cuts, durations, ways)
        for count in range(min(workers, len(durations)))
        for cuts in combinations(places, count)
    )
    found = best_cuts(durations, ways, workers)
    assert len(found) < workers
    assert found == sorted(set(found))
    alone = sum(durations)
    in_vain = AS_GOOD * least > WORTHWHILE * alone  # then one worker may do it all
    assert lasts(found, durations, ways) <= (max(AS_GOOD * least, alone) if in_vain else AS_GOOD * least) + 1e-6


def test_equal_iterations_are_shared_evenly() -> None:
    cuts = best_cuts([1.0] * 200, [0.0] * 200, 16)
    parts = {end - begin for begin, end in pairwise([0, *cuts, 200])}
    assert parts == {12, 13}


def test_a_worker_that_would_run_everything_before_its_part_is_not_sent() -> None:
    ways = [float(iteration) for iteration in range(20)]
    assert best_cuts([1.0] * 20, ways, 4) == []


def test_one_long_iteration_is_one_workers_part() -> None:
    assert best_cuts([1.0, 1.0, 10.0, 1.0], [0.0] * 4, 4) in ([2, 3], [1, 2, 3])
