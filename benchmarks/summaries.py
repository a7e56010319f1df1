"""Many measurements as few numbers: medians, spreads, growth."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence


def middle(values: Sequence[float]) -> float:
    """The median."""
    return statistics.median(values)


def spread(values: Sequence[float]) -> str:
    """The lowest and the highest, in words."""
    return f"{min(values):.2f}" if len(values) == 1 else f"{min(values):.2f} to {max(values):.2f}"


def geometric_mean(values: Sequence[float]) -> float:
    """The mean of ratios."""
    return statistics.geometric_mean(values)


def exponent(costs: Mapping[int, float], *, least: int = 0) -> float:
    """The k of `cost ~ size ** k` that fits best to the sizes from `least` on; a cost that is not positive is noise."""
    points = [(math.log(size), math.log(cost)) for size, cost in costs.items() if size >= least and cost > 0]
    if len(points) < 2:
        return math.nan
    return statistics.linear_regression(*zip(*points, strict=True)).slope


def beyond_start(costs: Mapping[int, float]) -> dict[int, float]:
    """Costs without what even the smallest size costs."""
    start = costs[min(costs)]
    return {size: cost - start for size, cost in costs.items() if size > min(costs)}


def parts_of(count: int, workers: int) -> int:
    """How many of so many epochs the worker with the most has to do."""
    return -(-count // workers)
