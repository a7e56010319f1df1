"""Figure 5 of the paper: training with flor beside training that saves by hand once an epoch.

    python benchmarks/fig05_record_overhead.py [--results DIR] [--figures DIR]

Drawn from what benchmarks/record_overhead.py has measured.
"""

from __future__ import annotations

from pathlib import Path

from drawing import BLUE, GREY, ORANGE, bars, drawing
from record_overhead import BY_HAND, FLOR, NAMES, PLAIN
from reporting import Numbers, drawn_from, options, places, table
from summaries import middle, spread

WAYS = (PLAIN, BY_HAND, FLOR)


def seconds(results: Numbers, workload: str, way: str) -> list[float]:
    """Of training, in each round."""
    return [row["training"] for row in results[workload].get(way, [])]


def overhead(results: Numbers, workload: str, way: str) -> float:
    """How much longer than the plain script, in per cent; medians."""
    return 100 * (middle(seconds(results, workload, way)) / middle(seconds(results, workload, PLAIN)) - 1)


def measured(results: Numbers, ways: tuple[str, ...]) -> list[str]:
    """The workloads for which there is something of every way."""
    return [name for name in NAMES if name in results and all(results[name].get(way) for way in ways)]


def summarize(results: Numbers) -> Numbers:
    """The mean and the highest overhead of the two ways to keep checkpoints."""
    names = measured(results, WAYS)
    found: Numbers = {"workloads": len(names), "rounds": min(len(seconds(results, n, FLOR)) for n in names)}
    for label, way in (("flor", FLOR), ("by_hand", BY_HAND)):
        each = {name: overhead(results, name, way) for name in names}
        highest = max(each, key=lambda name: each[name])
        mean = sum(each.values()) / len(each)
        found[label] = {"each": each, "mean": mean, "highest": each[highest], "highest_name": highest}
    return found


def page(results: Numbers) -> str:
    """Seconds of each way, with lowest and highest."""
    rows = []
    for name in measured(results, WAYS):
        cells = [f"{middle(s):.2f} ({spread(s)})" for s in (seconds(results, name, way) for way in WAYS)]
        rows.append([name, *cells, *(f"{overhead(results, name, way):+.1f} %" for way in (BY_HAND, FLOR))])
    heads = ["workload", "plain, s", "torch.save each epoch, s", "flor, s", "by hand", "flor"]
    return table(heads, rows)


def draw(results: Numbers, path: Path) -> None:
    """Bars, with flor's overhead over each group as in the paper."""
    names = measured(results, WAYS)
    labels = ("no checkpoints", "by hand: torch.save each epoch", "flor record")
    groups = {
        label: [middle(seconds(results, name, way)) for name in names] for label, way in zip(labels, WAYS, strict=True)
    }
    with drawing(path) as axes:
        drawn = bars(axes, names, groups, (GREY, ORANGE, BLUE))
        axes.bar_label(drawn[2], [f"{overhead(results, name, FLOR):+.1f} %" for name in names], fontsize=7, padding=2)
        axes.set_ylabel("training, seconds")
        axes.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, 1.16), fontsize=8)


def main() -> None:
    """Draw."""
    where = places(options(__doc__).parse_args())
    source = where.find("record_overhead")
    draw(source["results"], where.picture("fig05_record_overhead"))
    numbers = {"summary": summarize(source["results"]), **drawn_from(source)}
    where.keep("fig05_record_overhead", numbers, "Figure 5: record overhead", page(source["results"]))


if __name__ == "__main__":
    main()
