"""Figure 10 of the paper: parallel replay as a fraction of running again, on two workers with one thread each.

    python benchmarks/fig10_parallel.py [--results DIR] [--figures DIR]

Drawn from the inner probes of benchmarks/fig09_replay_latency.py, where everything has to be executed. Ideal is the
share of the epochs that the worker with the most of them has.
"""

from __future__ import annotations

from pathlib import Path

from drawing import BLUE, bars, drawing, level
from fig09_replay_latency import WORKERS, speedup, speedup_of_training
from reporting import Numbers, drawn_from, options, places, table
from summaries import parts_of


def fractions(row: Numbers) -> Numbers:
    """Of one workload, in per cent."""
    return {
        "workload": row["workload"],
        "whole": 100 / speedup(row, "inner"),
        "training": 100 / speedup_of_training(row, "inner"),
        "ideal": 100 * parts_of(row["epochs"], WORKERS) / row["epochs"],
    }


def summarize(rows: list[Numbers]) -> Numbers:
    """Means over the workloads."""
    keys = ("whole", "training", "ideal")
    means = {key: sum(row[key] for row in rows) / len(rows) for key in keys}
    return {**means, "workloads": len(rows), "highest": max(row["training"] for row in rows)}


def page(rows: list[Numbers]) -> str:
    """A line a workload."""
    heads = ["workload", "whole process", "without start-up", "ideal"]
    return table(heads, [[r["workload"], *(f"{r[k]:.0f} %" for k in ("whole", "training", "ideal"))] for r in rows])


def draw(rows: list[Numbers], path: Path) -> None:
    """Bars, and the ideal as a line."""
    with drawing(path) as axes:
        groups = {
            "without start-up": [row["training"] for row in rows],
            "whole processes": [row["whole"] for row in rows],
        }
        for group in bars(axes, [row["workload"] for row in rows], groups, ("#cfcfcf", BLUE)):
            axes.bar_label(group, fmt="%.0f", fontsize=7, padding=2)
        level(axes, 100 / WORKERS, f"ideal {100 / WORKERS:.0f} %")
        axes.set_ylabel(f"replay on {WORKERS} workers,\n% of running again")
        axes.legend(ncols=2, loc="upper center", bbox_to_anchor=(0.5, 1.16), fontsize=8)


def main() -> None:
    """Draw."""
    where = places(options(__doc__).parse_args())
    source = where.find("fig09_replay_latency")
    rows = [fractions(row) for row in source["rows"]]
    draw(rows, where.picture("fig10_parallel"))
    numbers = {**drawn_from(source), "rows": rows, "summary": summarize(rows)}
    where.keep("fig10_parallel", numbers, "Figure 10: parallel replay", page(rows))


if __name__ == "__main__":
    main()
