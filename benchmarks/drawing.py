"""How all pictures of the evaluation look: few colours that everyone can tell apart, quiet axes, small files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Okabe and Ito's colours; the order is that of brightness too, so that they differ in grey.
BLACK, BLUE, GREEN, ORANGE, SKY, GREY = "#222222", "#0072B2", "#009E73", "#E69F00", "#56B4E9", "#9a9a9a"
MARKERS = "osD^v"
STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": "#e3e3e3",
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
}


@contextmanager
def drawing(path: Path, columns: int = 1, size: tuple[float, float] = (6.4, 3.2)) -> Iterator[Any]:
    """Axes to draw on (an array if there are columns); written to the file at the end."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    with plt.rc_context(STYLE):  # type: ignore[arg-type]
        figure, axes = plt.subplots(1, columns, figsize=size)
        yield axes
        figure.savefig(path, dpi=130, metadata={"Software": None})  # no version: the same numbers, the same bytes
        plt.close(figure)


def bars(axes: Any, names: Sequence[str], groups: Mapping[str, Sequence[float]], colours: Sequence[str]) -> list[Any]:
    """A group of bars for each name; the bars of each group, for labels."""
    width = 0.8 / len(groups)
    drawn = []
    for number, (label, values) in enumerate(groups.items()):
        places = [at + (number - (len(groups) - 1) / 2) * width for at in range(len(names))]
        drawn.append(axes.bar(places, values, width * 0.95, label=label, color=colours[number]))
    axes.set_xticks(range(len(names)), names)
    axes.tick_params(axis="x", length=0)
    return drawn


def level(axes: Any, at: float, text: str) -> None:
    """A grey line across, with what it means."""
    axes.axhline(at, color=GREY, linewidth=1, linestyle="--")
    axes.annotate(text, (0.995, at), xycoords=("axes fraction", "data"), ha="right", va="bottom", color="#666666")
