"""Pictures of the parts that draw none themselves, from their numbers.

python benchmarks/pictures.py            # from docs/results, as run.py does after each part
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from drawing import BLUE, GREY, ORANGE, SKY, drawing
from reporting import FIGURES, RESULTS, Numbers, Places


def log_call(numbers: Numbers, path: Path) -> None:
    """Microseconds a call, from the cheapest on."""
    calls = {name: value for name, value in numbers["medians"].items() if not name.startswith("bare")}
    lying(calls, path, "microseconds a call", "{:,.1f}")


def checkpoint_cost(numbers: Numbers, path: Path) -> None:
    """Milliseconds that one checkpoint costs training."""
    rows = numbers["sizes"][0]["rows"]
    size = numbers["sizes"][0]["bytes"] / 1e9
    costs = {name: 1000 * max(0.0, row["cost"]) for name, row in rows.items()}
    lying(costs, path, f"ms that one checkpoint of {size:.2f} GB costs training", "{:,.0f}")


def background_logging(numbers: Numbers, path: Path) -> None:
    """Overhead of logging everything, by the number of torch threads."""
    shown = {"direct": "direct", "process": "flor.background"}
    costs = {
        f"{shown[way]}, {summary['threads']} torch thread(s)": 100 * found["overhead"]
        for summary in numbers["summaries"]
        for way, found in summary["ways"].items()
        if way in shown
    }
    lying(costs, path, "% overhead over training without logging", "{:,.0f}")


def lying(values: dict[str, float], path: Path, label: str, form: str) -> None:
    """Bars that lie, the shortest first; flor's own in blue."""
    names = sorted(values, key=lambda name: values[name], reverse=True)
    wide = 0 < 100 * min(values.values()) < max(values.values())
    with drawing(path, size=(6.4, 0.6 + 0.32 * len(names))) as axes:
        drawn = axes.barh(names, [values[name] for name in names], 0.65, color=[colour(name) for name in names])
        axes.bar_label(drawn, [form.format(values[name]) for name in names], fontsize=8, padding=3)
        if wide:
            axes.set_xscale("log")
        axes.grid(axis="x")
        axes.grid(visible=False, axis="y")
        axes.margins(x=0.12)
        axes.set_xlabel(label)


def colour(name: str) -> str:
    """By whose it is."""
    if name.startswith("no "):
        return GREY
    if name.startswith("flordb"):
        return ORANGE
    return (SKY if "fork" in name else BLUE) if name.startswith("flor") else ORANGE


PICTURES: dict[str, Callable[[Numbers, Path], None]] = {
    "log_call": log_call,
    "checkpoint_cost": checkpoint_cost,
    "background_logging": background_logging,
}


def main() -> None:
    """Draw all of which there are numbers."""
    where = Places(RESULTS, FIGURES)
    for name, draw in PICTURES.items():
        draw(where.find(name), where.picture(name))


if __name__ == "__main__":
    main()
