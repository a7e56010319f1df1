"""A chart as an image file, drawn by matplotlib where that is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flor.errors import StoreUnwritable, UsageError
from flor.query.plot.braille import thinned
from flor.query.plot.series import Chart, Series
from flor.query.plot.terminal import pieces

TICK_UP = 2  # matplotlib's number for that marker
POINTS = 4000  # columns: more can't be told apart


def save(chart: Chart, path: Path) -> None:
    """Write the chart; the ending of the name says in which format."""
    figure_class = _matplotlib()
    figure = figure_class(figsize=(8, 0.8 + 2.2 * len(chart.panels)), layout="constrained")
    grid = figure.subplots(len(chart.panels), 1, sharex=True, squeeze=False)
    for axes, (name, panel) in zip(grid[:, 0], chart.panels, strict=True):
        _panel(axes, name, panel, chart)
    grid[-1, 0].set_xlabel(chart.x_label + (" (ticks: checkpoints)" if chart.ticks else ""))
    figure.suptitle(chart.title)
    try:
        figure.savefig(path, dpi=150)
    except ValueError as error:
        raise UsageError(f"{path} can't be drawn: {error}", todo="Let the name end in .png, .svg or .pdf.") from error
    except OSError as error:
        raise StoreUnwritable(f"The image can't be written: {error.strerror}.", where=str(path)) from error


def _matplotlib() -> Any:
    """The figure class itself: pyplot would look for a display."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError(
            "An image needs matplotlib.", todo="pip install matplotlib; without -o the chart is drawn in the terminal."
        ) from None
    return Figure


def _panel(axes: Any, name: str, panel: tuple[Series, ...], chart: Chart) -> None:
    for number, series in enumerate(panel):
        _line(axes, series, f"C{number if number else int(series.is_hindsight)}", chart.span)
    axes.set_ylabel(name)
    if len(panel) > 1 or panel[0].is_hindsight:
        axes.legend(loc="best", fontsize="small", frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    low, high = chart.span
    ticks = [tick for tick in chart.ticks if low <= tick <= high]
    # Ticks of the checkpoints stand on the axis; its own hang from it.
    style = {
        "linestyle": "none",
        "marker": TICK_UP,
        "ms": 6,
        "color": "0.35",
        "clip_on": False,
        "label": "_checkpoints",
    }
    axes.plot(ticks, [0] * len(ticks), transform=axes.get_xaxis_transform(), **style)


def _line(axes: Any, series: Series, color: str, span: tuple[float, float]) -> None:
    label = f"{series.origin}, rank {series.rank}" if series.rank else series.origin
    for piece in pieces(series):
        points = thinned([x for x, _ in piece], [y for _, y in piece], span, POINTS)
        style = "--" if series.is_hindsight else "-"
        marker = "o" if len(points) == 1 else None
        axes.plot(
            [x for x, _ in points], [y for _, y in points], style, color=color, lw=1.3, label=label, marker=marker
        )
        label = "_nolegend_"
