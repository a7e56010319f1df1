"""A chart as lines of text: dots of braille, dashed where a replay logged, checkpoints on the x-axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from flor.query.plot.braille import Canvas, thinned
from flor.query.plot.series import Chart, Series, finite

if TYPE_CHECKING:
    from rich.text import Text

COLORS = ("cyan", "magenta", "yellow", "green", "blue", "red")
GUTTER = 11
ROWS = 12


def draw(chart: Chart, width: int, rows: int = ROWS) -> Text:
    """All panels, one below the other, over one x-axis."""
    from rich.text import Text

    columns = max(10, width - GUTTER - 1)
    text = Text(no_wrap=True)
    for name, panel in chart.panels:
        text.append_text(_panel(name, panel, chart.span, columns, rows))
        text.append(_axis(chart, columns) + "\n")
    text.append(_numbers(chart, columns) + "\n")
    if chart.ticks:
        text.append(f"{'':{GUTTER}} ┴ {len(chart.ticks)} checkpoints\n")
    return text


def _panel(name: str, panel: Sequence[Series], span: tuple[float, float], columns: int, rows: int) -> Text:
    values = finite(panel)
    low, high = _scale(values)
    canvas = Canvas(columns, rows)
    for pen, series in enumerate(panel):
        for piece in pieces(series):
            points = thinned([x for x, _ in piece], [y for _, y in piece], span, canvas.width)
            dots = [(_across(x, span, canvas.width), _down(y, low, high, canvas.height)) for x, y in points]
            canvas.line(dots, pen, dashed=series.is_hindsight)
    text = _title(name, panel, columns).append("\n")
    for index, cells in enumerate(canvas.cells()):
        label = {0: f"{high:.5g}", rows - 1: f"{low:.5g}"}.get(index, "") if values else ""
        text.append(f"{label:>{GUTTER - 1}} ┤" if label else f"{'':{GUTTER}}│")
        for character, pen in cells:
            text.append(character, COLORS[pen % len(COLORS)] if pen >= 0 else "")
        text.append("\n")
    return text


def _title(name: str, panel: Sequence[Series], columns: int) -> Text:
    """The name and the legend, which is brief where there is little room."""
    from rich.text import Text

    title = Text(f"{'':{GUTTER}} ").append(shown(name), "bold")
    legend = _legend(panel, brief=False)
    title.append_text(legend if len(title) + len(legend) <= GUTTER + 1 + columns else _legend(panel, brief=True))
    title.truncate(GUTTER + 1 + columns, overflow="ellipsis")
    return title


def shown(name: str) -> str:
    """A name without what a terminal would obey."""
    return "".join(character if character.isprintable() else "?" for character in name)


def _legend(panel: Sequence[Series], *, brief: bool) -> Text:
    from rich.text import Text

    text = Text()
    for pen, series in enumerate(panel):
        lost = sum(not math.isfinite(y) for y in series.y)
        rank = f", rank {series.rank}" if len({each.rank for each in panel}) > 1 else ""
        facts = "" if brief else f", {len(series.y)} values, last {series.y[-1]:.5g}"
        odd = f", {lost} not finite" if lost else ""
        text.append(f"  {'╌╌' if series.is_hindsight else '──'} ", COLORS[pen % len(COLORS)])
        text.append(f"{series.origin}{rank}{facts}{odd}")
    return text


def pieces(series: Series) -> list[list[tuple[float, float]]]:
    """The series cut where a value is not finite."""
    found: list[list[tuple[float, float]]] = [[]]
    for x, y in zip(series.x, series.y, strict=True):
        if math.isfinite(x) and math.isfinite(y):
            found[-1].append((x, y))
        elif found[-1]:
            found.append([])
    return [piece for piece in found if piece]


def _axis(chart: Chart, columns: int) -> str:
    line = ["─"] * columns
    for tick in chart.ticks:
        at = round(_across(tick, chart.span, columns))
        if 0 <= at < columns:
            line[at] = "┴"
    return f"{'':{GUTTER}}└{''.join(line)}"


def _numbers(chart: Chart, columns: int) -> str:
    """The first and the last x, and what they count."""
    low, high = (f"{value:.6g}" for value in chart.span)
    room = columns - len(low) - len(high)
    label = shown(chart.x_label) if len(chart.x_label) + 2 <= room else ""
    return f"{'':{GUTTER}} {low}{label:^{max(0, room)}}{high}"


def _scale(values: Sequence[float]) -> tuple[float, float]:
    """The least and the greatest; one value alone gets some room around it."""
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - (abs(low) or 1.0) / 2, high + (abs(high) or 1.0) / 2)


def _across(x: float, span: tuple[float, float], width: int) -> float:
    low, high = span
    return (x - low) / ((high - low) or 1.0) * (width - 1)


def _down(y: float, low: float, high: float, height: int) -> float:
    # Halves first: the distance of two floats can be more than the greatest float.
    return (high / 2 - y / 2) / ((high / 2 - low / 2) or 1.0) * (height - 1)
