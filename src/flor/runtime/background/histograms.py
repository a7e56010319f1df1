"""Counts of a histogram with given edges, equal to numpy's to the last one, without sorting.

The upper half of a float32 is a key: all numbers with one key form an interval. If both ends of it are in the same
bin, so is every number with that key, and counting keys counts bins. Only numbers whose key straddles an edge are
looked at one by one, by numpy's own function.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy

KEYS = 1 << 16
FEW = 1 << 16  # below this, sorting is faster than a table of keys
PIECE = 1 << 18  # numbers at a time, so that what is between stays in the cache


class Edges:
    """The edges of a histogram, prepared for counting float32 numbers."""

    def __init__(self, edges: Any) -> None:
        self.edges = numpy.asarray(edges)
        lowest = numpy.arange(KEYS, dtype=numpy.uint32) << 16
        with numpy.errstate(invalid="ignore"):  # signalling NaNs are among them
            ends = numpy.stack([lowest, lowest | 0xFFFF]).view(numpy.float32).astype(numpy.float64)
        bins: Any = numpy.searchsorted(self.edges, ends, side="right") - 1
        bins[ends >= self.edges[-1]] = len(self.edges)  # the last edge is inclusive: left to numpy, as is NaN
        outside: Any = (bins < 0) | (bins >= len(self.edges) - 1)
        self.straddles = (bins[0] != bins[1]) | (outside[0] & (bins[0] > 0)) | numpy.isnan(ends).any(axis=0)
        self.bins = numpy.where(self.straddles | outside[0], len(self.edges) - 1, bins[0])  # one bin more, for the rest

    def counts(self, numbers: Any) -> Any:
        """How many of the float32 numbers are in each bin."""
        if numbers.size < FEW:
            return self._sorted(numpy.sort(numbers.astype(numpy.float64)))
        keys: Any = numpy.zeros(KEYS, numpy.intp)
        doubtful = []
        upper = numbers.view(numpy.uint16)[1::2] if sys.byteorder == "little" else numbers.view(numpy.uint16)[0::2]
        for start in range(0, numbers.size, PIECE):
            part = upper[start : start + PIECE].astype(numpy.intp)
            keys += numpy.bincount(part, minlength=KEYS)
            doubtful.append(numbers[start : start + PIECE][self.straddles.take(part)])
        sure = numpy.bincount(self.bins, weights=keys, minlength=len(self.edges))[:-1]
        rest = numpy.concatenate(doubtful).astype(numpy.float64)
        return sure.astype(numpy.intp) + numpy.histogram(rest, bins=self.edges)[0]

    def _sorted(self, ordered: Any) -> Any:
        """As numpy counts: numbers below each edge, and up to the last one."""
        below = ordered.searchsorted(self.edges[:-1], "left")
        return numpy.diff(numpy.append(below, ordered.searchsorted(self.edges[-1:], "right")))
