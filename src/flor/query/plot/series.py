"""The numbers of a run by name: what was recorded, what hindsight added, and where the checkpoints are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from flor.errors import UsageError
from flor.model.checkpoints import Key
from flor.model.positions import Level, readable
from flor.model.values import TensorValue
from flor.query.plot.axis import Axis
from flor.query.rows import Row
from flor.query.runs import Run

CHANNELS = ("flor", "tensorboard", "wandb", "mlflow", "trackio", "comet")
STEPS = ("global_step", "step")  # logged beside a value, they say where it belongs
MOST = 8  # panels, if no names are given


@dataclass(frozen=True, slots=True)
class Series:
    """The values of one name, from one origin and rank."""

    name: str
    origin: str  # recorded or hindsight
    rank: int
    x: tuple[float, ...]
    y: tuple[float, ...]

    @property
    def is_hindsight(self) -> bool:
        """True if a replay logged it."""
        return self.origin == "hindsight"


@dataclass(frozen=True, slots=True)
class Chart:
    """What is drawn: a panel a name, all over one x-axis; `ticks` are the checkpoints."""

    title: str
    x_label: str
    panels: tuple[tuple[str, tuple[Series, ...]], ...]
    ticks: tuple[float, ...]

    @property
    def span(self) -> tuple[float, float]:
        """The first and last x."""
        found = [x for _, panel in self.panels for series in panel for x in (series.x[0], series.x[-1])]
        return min(found), max(found)


def chart_of(run: Run, names: Sequence[str], x: str | None = None) -> Chart:
    """The chart of these names, or of the first few that are numbers."""
    rows = [row for row in run.logs() if row.channel in CHANNELS]
    chosen = tuple(dict.fromkeys(names)) or _numeric_names(rows)[:MOST]
    if not chosen:
        raise UsageError(f"{run.name} has logged no numbers.", todo="flor.log(name, number) is one way.")
    groups = {name: _groups(name, rows, run) for name in chosen}
    drawn = [row for found in groups.values() for group in found for row in group]
    axis = Axis.of(drawn)
    steps = _steps(rows, drawn, x, run)
    panels = tuple((name, tuple(_series(group, axis, steps) for group in found)) for name, found in groups.items())
    if steps is not None:
        return Chart(run.name, steps.name, panels, ())
    return Chart(run.name, axis.label, panels, checkpoint_ticks(run, axis))


def number(value: object) -> float | None:
    """A logged value as a number, if it is one: a number, or a tensor with one element."""
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, TensorValue):
        return None  # only big ones come as such
    if isinstance(value, bool | int | float):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    return None


def _numeric_names(rows: Iterable[Row]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(row.name for row in rows if number(row.value) is not None))


def _groups(name: str, rows: Sequence[Row], run: Run) -> list[list[Row]]:
    """The rows of a name by origin and rank; of several replays, those of the last that logged it."""
    named = [row for row in rows if row.name == name]
    numbers = [row for row in named if number(row.value) is not None]
    if not numbers:
        raise _nothing(name, bool(named), rows, run)
    replay = next((row.replay for row in reversed(numbers) if row.replay), None)
    groups: dict[tuple[str, int], list[Row]] = {}
    for row in numbers:
        if row.replay in (None, replay):
            groups.setdefault((row.origin, row.rank), []).append(row)
    return list(groups.values())


def _nothing(name: str, logged: bool, rows: Sequence[Row], run: Run) -> UsageError:
    if logged:
        return UsageError(f"{name!r} is in {run.name}, but never as a number.", todo=f"flor logs {run.name} {name}")
    return run.nothing_called(name, _numeric_names(rows))


@dataclass(frozen=True, slots=True)
class Steps:
    """A series that gives the x of others: what it was at a position, by rank."""

    name: str
    values: Mapping[tuple[str, int], float]


def _steps(rows: Sequence[Row], drawn: Sequence[Row], x: str | None, run: Run) -> Steps | None:
    """The one that was named, or one by a usual name that was logged beside every value that is drawn."""
    taken = {row.name for row in drawn}
    for name in (x,) if x else [usual for usual in STEPS if usual not in taken]:
        named = [(row, number(row.value)) for row in rows if row.name == name]
        beside = {(row.position, row.rank): value for row, value in named if value is not None}
        if all((row.position, row.rank) in beside for row in drawn):
            return Steps(name, beside)
    if x:
        raise UsageError(f"{x!r} was not logged in {run.name} beside every value that is to be drawn.")
    return None


def _series(group: Sequence[Row], axis: Axis, steps: Steps | None) -> Series:
    if steps is None:
        x = axis.of_series([row.position for row in group])
    else:
        x = [steps.values[row.position, row.rank] for row in group]
    values = [number(row.value) for row in group]
    return Series(group[0].name, group[0].origin, group[0].rank, tuple(x), tuple(v for v in values if v is not None))


def checkpoint_ticks(run: Run, axis: Axis) -> tuple[float, ...]:
    """Where the checkpoints of a run are, in iterations of the main loop."""
    found = (_tick(Key.from_json(note.values["key"]), run, axis) for note in run.checkpoints)
    return tuple(sorted({tick for tick in found if tick is not None}))


def _tick(key: Key, run: Run, axis: Axis) -> float | None:
    """A resume point lies where its iteration begins, a loop's end where its own iteration ends."""
    level = Level(key.execution.loop, key.execution.occurrence, key.iteration or 0)
    inside = axis.whole(readable(key.execution.parent, run.loop_names))
    if inside is not None:
        return inside + (1.0 if key.iteration is None else 0.5)
    own = axis.whole(readable((*key.execution.parent, level), run.loop_names))
    return None if own is None or key.iteration is None else float(own)


def finite(series: Iterable[Series]) -> list[float]:
    """The values that a scale can be made of."""
    return [y for y in chain.from_iterable(each.y for each in series) if math.isfinite(y)]
