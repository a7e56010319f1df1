"""The sum of squares as numpy has it in training, where BLAS may share it among threads and so round otherwise.

Threads of BLAS wait by spinning: in the process that logs they would fight training for its cores. There is one thread
there, and it adds up the same parts in the same order.
"""

from __future__ import annotations

from typing import Any

import numpy

PROBES = (30_001, 100_003)  # long enough for BLAS to share them out
SHARED = 10_000  # OpenBLAS shares out what is longer
MOST_PARTS = 512


def probe() -> tuple[float, ...]:
    """Sums of squares as this process has them, of numbers that anyone can make again."""
    return tuple(float(numbers.dot(numbers)) for numbers in map(_numbers, PROBES))


def parts_of(expected: tuple[float, ...]) -> int:
    """How many threads shared these sums; raises if no number explains them."""
    for parts in range(1, MOST_PARTS):
        if all(in_parts(_numbers(size), parts) == value for size, value in zip(PROBES, expected, strict=True)):
            return parts
    raise RuntimeError("numpy adds up otherwise there than in training")


def in_parts(numbers: Any, parts: int) -> float:
    """The sum of squares as that many threads make it."""
    if len(numbers) <= SHARED:
        return float(numbers.dot(numbers))
    total, start = 0.0, 0
    for left in range(parts, 0, -1):
        stop = start + -(-(len(numbers) - start) // left)
        total += float(numbers[start:stop].dot(numbers[start:stop]))
        start = stop
    return total


class Numbers(numpy.ndarray[Any, Any]):
    """An array whose sum of squares is that of training."""

    parts = 1

    def dot(self, other: Any, out: Any = None) -> Any:
        """As ndarray.dot; the sum of squares in parts."""
        plain = numpy.asarray(self)
        if other is self and plain.ndim == 1 and plain.dtype == numpy.float64 and out is None:
            return numpy.float64(in_parts(plain, self.parts))
        return plain.dot(other, out)


def _numbers(size: int) -> Any:
    return (numpy.arange(size) * 7919 % 10_007) / 9973.0
