"""How costs grow with a run: recording, by iterations and by log records, and planning a replay.

    python benchmarks/cost_growth.py [--quick] [--rounds 3]

Loops of 10 to 100,000 iterations of some 20 µs with a small loop in each, and runs of 100 to 1,000,000 log records.
What recording adds is the difference of the loop's own time, recorded and plain; what planning takes is the time of
`flor plan` with a probe in the loop, beyond that of the smallest run. The exponent is that of the best fit, from 1,000
on: 1 is linear.
"""

from __future__ import annotations

import math
import sys
import tempfile
from pathlib import Path

from drawing import BLUE, GREY, MARKERS, ORANGE, drawing
from reporting import Numbers, options, places, table
from scenes import Scene
from summaries import beyond_start, exponent, middle

ITERATIONS = """
import sys, time
state = [0.0] * 8
begun = time.perf_counter()
for i in range(int(sys.argv[1])):
    for j in range(8):
        state[j] += i * j
    sum(range(2000))
    # probe
print("seconds", time.perf_counter() - begun)
"""
RECORDS = """
import sys, time
from flor import log
begun = time.perf_counter()
for i in range(int(sys.argv[1])):
    log("i", i)
    # probe
print("seconds", time.perf_counter() - begun)
"""
PROBE = {"iterations": "print(i, state[0])", "records": "print(i)"}
SCRIPTS = {"iterations": ITERATIONS, "records": RECORDS}
LEAST = 1000


def sizes(kind: str, quick: bool) -> list[int]:
    """Powers of ten."""
    first, last = (1, 5) if kind == "iterations" else (2, 6)
    return [10**power for power in range(first, last + (-1 if quick else 1))]


def measure(kind: str, home: Path, size: int, rounds: int) -> Numbers:
    """Medians of what recording adds and what planning takes."""
    scene = Scene(home / f"{kind}{size}")
    plain, recorded, plans = [], [], []
    for _ in range(rounds):
        scene.write(SCRIPTS[kind])
        plain.append(scene.plain(str(size)).training())
        recorded.append(scene.record(str(size)).training())
        scene.write(SCRIPTS[kind].replace("# probe", PROBE[kind]))
        plans.append(scene.flor("plan").seconds)
    store = sum(path.stat().st_size for path in (scene.folder / ".flor").rglob("*") if path.is_file())
    added = middle(recorded) - middle(plain)
    return {"kind": kind, "size": size, "added": added, "plan": middle(plans), "store": store}


def growth(rows: list[Numbers], kind: str) -> Numbers:
    """The fitted exponents of one kind."""
    some = [row for row in rows if row["kind"] == kind]
    added = {row["size"]: row["added"] for row in some}
    plans = {row["size"]: row["plan"] for row in some}
    most = max(added)
    return {
        "most": most,
        "added_exponent": exponent(added, least=LEAST),
        "added_microseconds": 1e6 * added[most] / most,
        "plan_exponent": exponent(beyond_start(plans), least=LEAST),
        "plan_seconds": plans[most],
        "plan_start": plans[min(plans)],
    }


def page(rows: list[Numbers]) -> str:
    """A line a size."""
    heads = ["what", "how many", "recording adds, s", "for each, µs", "flor plan, s", "store, MB"]
    lines = []
    for row in rows:
        each = f"{1e6 * row['added'] / row['size']:.2f}"
        lines.append([row["kind"], f"{row['size']:,}", f"{row['added']:.4f}", each, f"{row['plan']:.2f}"])
        lines[-1].append(f"{row['store'] / 1e6:.2f}")
    return table(heads, lines)


def verdict(kind: str, found: Numbers) -> str:
    """The exponents in words."""
    return (
        f"{kind}: what recording adds grows with exponent {found['added_exponent']:.2f}, "
        f"planning beyond its start with {found['plan_exponent']:.2f}."
    )


def draw(rows: list[Numbers], path: Path) -> None:
    """Both costs over the size, on logarithmic axes, with a line of slope 1 to compare."""
    with drawing(path, columns=2, size=(7.6, 3.2)) as panes:
        for axes, key, title in zip(panes, ("added", "plan"), ("recording adds", "flor plan"), strict=True):
            for kind, colour, marker in zip(SCRIPTS, (BLUE, ORANGE), MARKERS, strict=False):
                points = [(row["size"], row[key]) for row in rows if row["kind"] == kind and row[key] > 0]
                axes.plot(*zip(*points, strict=True), marker=marker, color=colour, label=kind)
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_title(f"{title}, seconds", fontsize=9)
            axes.set_xlabel("iterations or records")
            axes.axline((1e4, 0.1), (1e5, 1.0), color=GREY, linestyle="--", label="linear")
        panes[0].legend(fontsize=8)


def main() -> int:
    """Measure, fit, and fail if something grows faster than linearly (a tenth is left for noise)."""
    parser = options(__doc__)
    parser.add_argument("--rounds", type=int)
    args = parser.parse_args()
    where, rounds = places(args), args.rounds or (1 if args.quick else 3)
    with tempfile.TemporaryDirectory() as home:
        rows = [measure(kind, Path(home), n, rounds) for kind in SCRIPTS for n in sizes(kind, args.quick)]
    found = {kind: growth(rows, kind) for kind in SCRIPTS}
    draw(rows, where.picture("cost_growth"))
    texts = [page(rows), *(verdict(kind, one) for kind, one in found.items())]
    where.keep("cost_growth", {"rows": rows, "summary": found}, "How costs grow", *texts)
    exponents = [one[key] for one in found.values() for key in ("added_exponent", "plan_exponent")]
    worse = [value for value in exponents if not math.isnan(value) and value > 1.1]
    return 1 if worse and not args.quick else 0


if __name__ == "__main__":
    sys.exit(main())
