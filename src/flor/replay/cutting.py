"""Where to cut the main loop into segments, so that the last worker is done soonest."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise

ROUNDS = 40  # of a search that halves
AS_GOOD = 1.02  # even parts are taken if they last at most so many times the shortest: measured times are not the truth
WORTHWHILE = 0.95  # a cut must bring the end at least so near


def best_cuts(durations: Sequence[float], ways: Sequence[float], workers: int) -> list[int]:
    """The iterations at which a new segment begins; `ways` are the seconds to come to each of them."""
    passed = [0.0, *accumulate(durations)]
    shortest, even = _shortest(passed, ways, workers), _even(passed, ways, workers)
    chosen = even if _lasts(even, passed, ways) <= AS_GOOD * _lasts(shortest, passed, ways) else shortest
    return chosen if _lasts(chosen, passed, ways) <= WORTHWHILE * _lasts([], passed, ways) else []


def _lasts(cuts: Sequence[int], passed: Sequence[float], ways: Sequence[float]) -> float:
    """Seconds until the last worker is done."""
    places = [0, *cuts, len(passed) - 1]
    return max(ways[begin] + passed[end] - passed[begin] for begin, end in pairwise(places))


def _even(passed: Sequence[float], ways: Sequence[float], workers: int) -> list[int]:
    """Places that divide the time evenly, each as near to its share as the way to it allows."""
    cuts = [0]
    for number in range(1, workers):
        later = range(cuts[-1] + 1, len(passed) - 1)
        if not later:
            break
        wish = passed[-1] * number / workers
        cuts.append(min(later, key=lambda place: abs(passed[place] - wish) + ways[place]))
    return cuts[1:]


def _shortest(passed: Sequence[float], ways: Sequence[float], workers: int) -> list[int]:
    """The least time in which so many workers can be done, found by halving, and its cuts."""
    furthest = _furthest(passed, ways)
    low, high, found = 0.0, ways[0] + passed[-1], list[int]()
    for _ in range(ROUNDS):
        middle = (low + high) / 2
        cuts = _within(middle, passed, ways, furthest, workers)
        if cuts is None:
            low = middle
        else:
            high, found = middle, cuts
    return found


def _furthest(passed: Sequence[float], ways: Sequence[float]) -> list[int]:
    """Of all places up to each, the one from which a worker gets furthest in a given time."""
    best = [0]
    for place in range(1, len(passed) - 1):
        further = passed[place] - ways[place] > passed[best[-1]] - ways[best[-1]] or not best[-1]
        best.append(place if further else best[-1])
    return best


def _within(
    limit: float, passed: Sequence[float], ways: Sequence[float], furthest: Sequence[int], workers: int
) -> list[int] | None:
    """Cuts by which nobody takes longer than this; None if that needs more workers."""
    cuts: list[int] = []
    begin = 0
    for _ in range(workers):
        end = bisect_right(passed, limit - ways[begin] + passed[begin]) - 1
        if end >= len(passed) - 1:
            return cuts
        following = furthest[end] if end > 0 else 0
        if following <= begin:
            return None
        cuts.append(following)
        begin = following
    return None
