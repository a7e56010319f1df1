"""Where on the x-axis a value goes: the iteration of the main loop, and how far into it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from flor.query.rows import Row

Place = tuple[str, int]
"""A loop execution, as a text that is unique in its run, and the iteration in it."""


def places(position: str) -> tuple[Place, ...]:
    """The loops of a readable position, outermost first: `main/epoch=3/train:batch=17`."""
    found, above = [], ""
    for part in position.split("/")[1:]:
        loop, _, iteration = part.rpartition("=")
        found.append((f"{above}/{loop}", int(iteration)))
        above = f"{above}/{part}"
    return tuple(found)


@dataclass
class Axis:
    """The iterations of the main loop one behind the other; several such loops follow each other."""

    label: str = "order"
    depth: int | None = None
    offsets: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Axis:
        """From the rows that are to be drawn: loops of one iteration are looked through."""
        found = [places(row.position) for row in rows]
        levels = [each for each in found if each]
        if not levels:
            return cls()
        depth = 0
        while all(len(each) > depth + 1 for each in levels) and len({each[depth] for each in levels}) == 1:
            depth += 1
        loops: dict[str, int] = {}
        for each in levels:
            loop, iteration = each[min(depth, len(each) - 1)]
            loops[loop] = max(loops.get(loop, 0), iteration + 1)
        return cls(_label(loops), depth, _running(loops))

    def whole(self, position: str) -> int | None:
        """The iteration that a position is in; None outside of the main loop."""
        found = places(position)
        if self.depth is None or len(found) <= self.depth:
            return None
        loop, iteration = found[self.depth]
        return self.offsets[loop] + iteration if loop in self.offsets else None

    def of_series(self, positions: Sequence[str]) -> list[float]:
        """An x for each value of a series: those of one iteration are spread over it evenly."""
        if self.depth is None:
            return [float(index) for index in range(len(positions))]
        wholes = [self.whole(position) for position in positions]
        before = len(list(takewhile(lambda whole: whole is None, wholes)))
        last = self._end()
        found = [float(whole) if whole is not None else (0.0 if i < before else last) for i, whole in enumerate(wholes)]
        counts, seen = Counter(wholes), Counter[int | None]()
        for index, whole in enumerate(wholes):
            if whole is not None:
                found[index] += seen[whole] / counts[whole]
                seen[whole] += 1
        return found

    def _end(self) -> float:
        return float(max(self.offsets.values(), default=0))


def _running(loops: dict[str, int]) -> dict[str, int]:
    offsets, at = {}, 0
    for loop, iterations in loops.items():
        offsets[loop] = at
        at += iterations
    return offsets


def _label(loops: dict[str, int]) -> str:
    names = {loop.rpartition("/")[2].rpartition(":")[2].partition("#")[0] for loop in loops}
    return names.pop() if len(names) == 1 else "iteration"
