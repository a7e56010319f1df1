"""Figure 6 of the paper: record overhead with and without adaptivity, beside the tolerance.

    python benchmarks/fig06_adaptivity.py [--results DIR] [--figures DIR]

Drawn from what benchmarks/record_overhead.py has measured. Without adaptivity every boundary is kept, at any cost.
"""

from __future__ import annotations

from pathlib import Path

from drawing import BLUE, ORANGE, bars, drawing, level
from fig05_record_overhead import measured, overhead
from record_overhead import FLOR, OFF, PLAIN, TOLERANCES
from reporting import Numbers, drawn_from, options, places, table
from summaries import middle

TOLERANCE = 100 * TOLERANCES[FLOR]


def summarize(results: Numbers) -> Numbers:
    """Overheads, and who is over the tolerance it was given."""
    names = measured(results, (PLAIN, FLOR, OFF))
    on, off = ({name: overhead(results, name, way) for name in names} for way in (FLOR, OFF))
    over = [f"{name} ({way})" for way in TOLERANCES for name in names if too_much(results, name, way)]
    highest = {"highest_on": max(on.values()), "highest_off": max(off.values())}
    return {"on": on, "off": off, **highest, "over": ", ".join(over) or "none"}


def too_much(results: Numbers, name: str, way: str) -> bool:
    """True if a workload took longer than its tolerance allows."""
    return bool(results[name].get(way)) and overhead(results, name, way) > 100 * TOLERANCES[way]


def checkpoints(results: Numbers, name: str, way: str) -> str:
    """How many were taken."""
    return f"{middle([row['checkpoints'] for row in results[name][way]]):.0f}"


def page(results: Numbers) -> str:
    """Overhead and checkpoints of each."""
    heads = ["workload", "flor", "checkpoints", "adaptivity off", "checkpoints", *list(TOLERANCES)[1:]]
    rows = []
    for name in measured(results, (PLAIN, *TOLERANCES, OFF)):
        cells = [f"{overhead(results, name, way):+.1f} %" for way in list(TOLERANCES)[1:]]
        on, off = (f"{overhead(results, name, way):+.1f} %" for way in (FLOR, OFF))
        rows.append([name, on, checkpoints(results, name, FLOR), off, checkpoints(results, name, OFF), *cells])
    return table(heads, rows)


def draw(results: Numbers, path: Path) -> None:
    """Two bars a workload, and the line that none may cross."""
    found = summarize(results)
    with drawing(path) as axes:
        groups = {"adaptivity off": list(found["off"].values()), "flor record": list(found["on"].values())}
        for group in bars(axes, list(found["on"]), groups, (ORANGE, BLUE)):
            axes.bar_label(group, fmt="%.1f", fontsize=7, padding=2)
        level(axes, TOLERANCE, f"tolerance {TOLERANCE:.2f} %")
        axes.set_ylabel("record overhead, %")
        axes.legend(ncols=2, loc="upper center", bbox_to_anchor=(0.5, 1.16), fontsize=8)


def main() -> None:
    """Draw."""
    where = places(options(__doc__).parse_args())
    source = where.find("record_overhead")
    draw(source["results"], where.picture("fig06_adaptivity"))
    numbers = {"summary": summarize(source["results"]), **drawn_from(source)}
    where.keep("fig06_adaptivity", numbers, "Figure 6: adaptivity", page(source["results"]))


if __name__ == "__main__":
    main()
