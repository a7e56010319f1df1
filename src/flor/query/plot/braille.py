"""A canvas of dots in characters of 2 by 4, on which lines are drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

BLANK = 0x2800
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
DASH, GAP = 4, 3  # dots


class Canvas:
    """Dots from the upper left; each character remembers who drew in it last."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self.width, self.height = 2 * columns, 4 * rows
        self._bits = [[0] * columns for _ in range(rows)]
        self._pens = [[-1] * columns for _ in range(rows)]

    def dot(self, x: int, y: int, pen: int) -> None:
        """One dot; outside of the canvas nothing happens."""
        if 0 <= x < self.width and 0 <= y < self.height:
            self._bits[y // 4][x // 2] |= _DOTS[y % 4][x % 2]
            self._pens[y // 4][x // 2] = pen

    def line(self, points: Sequence[tuple[float, float]], pen: int, *, dashed: bool = False) -> None:
        """Straight from point to point; dashes go on over corners."""
        travelled = 0
        for (x0, y0), (x1, y1) in pairwise(points):
            steps = max(1, math.ceil(max(abs(x1 - x0), abs(y1 - y0))))
            for step in range(steps + 1):
                if not dashed or (travelled + step) % (DASH + GAP) < DASH:
                    part = step / steps
                    self.dot(round(x0 + part * (x1 - x0)), round(y0 + part * (y1 - y0)), pen)
            travelled += steps
        if len(points) == 1:
            self.dot(round(points[0][0]), round(points[0][1]), pen)

    def cells(self) -> list[list[tuple[str, int]]]:
        """Row by row the characters, each with its pen, or -1 where nothing is."""
        return [
            [(chr(BLANK + bits) if bits else " ", pen) for bits, pen in zip(dots, pens, strict=True)]
            for dots, pens in zip(self._bits, self._pens, strict=True)
        ]


def thinned(
    x: Sequence[float], y: Sequence[float], span: tuple[float, float], columns: int
) -> list[tuple[float, float]]:
    """The points that show at this width: of each column the first, the least, the greatest and the last."""
    if len(x) <= 4 * columns:
        return list(zip(x, y, strict=True))
    low, high = span
    scale = columns / ((high - low) or 1.0)
    groups: dict[int, list[int]] = {}
    for index, at in enumerate(x):
        groups.setdefault(int((at - low) * scale), []).append(index)
    kept = [index for group in groups.values() for index in _shape(group, y)]
    return [(x[index], y[index]) for index in kept]


def _shape(group: Sequence[int], y: Sequence[float]) -> list[int]:
    return sorted({group[0], group[-1], min(group, key=y.__getitem__), max(group, key=y.__getitem__)})
