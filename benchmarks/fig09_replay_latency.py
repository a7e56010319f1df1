"""Figure 9 of the paper: how much faster than running again is a replay, with a probe in the outer or the inner loop?

    python benchmarks/fig09_replay_latency.py [--quick] [--only NAME]... [--longer 1] [--rounds 2]

Each workload is recorded, hands off, with `--longer` times its epochs. The full run with both probes in place gives the
time of re-execution and is the oracle: a replay that prints anything else is a failure. An outer probe is replayed by
plain `flor replay`, an inner one, which has to execute everything, with two workers. All times are those of whole
processes; "without start-up" leaves out what the full run spends before and after training, from both.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from drawing import BLUE, GREEN, bars, drawing
from reporting import Numbers, options, places, table
from scenes import Failed, Ran, Scene, expect_equal
from subjects import INNER, OUTER, SHORTEST, SUBJECTS, Subject
from summaries import geometric_mean, middle, spread

WORKERS = 2


def measure(subject: Subject, home: Path, longer: float, rounds: int) -> Numbers:
    """Record a workload, run it in full with the probes, replay it with each."""
    epochs = max(2, round(longer * subject.epochs()))
    scene = subject.scene(home)
    recorded = scene.record("--epochs", str(epochs))
    kept = len(scene.checkpoints())
    scene.write(subject.source(OUTER, INNER))
    full = scene.plain("--epochs", str(epochs))
    return {
        "workload": subject.name,
        "epochs": epochs,
        "record": recorded.seconds,
        "checkpoints": kept,
        "full": full.seconds,
        "start": full.seconds - full.training(),
        "outer": probe(scene, subject, OUTER, full, rounds, ()),
        "inner": probe(scene, subject, INNER, full, rounds, ("-j", str(WORKERS))),
    }


def probe(scene: Scene, subject: Subject, statement: str, full: Ran, rounds: int, options: tuple[str, ...]) -> Numbers:
    """Replay with one probe, as often as asked, beside the oracle."""
    scene.write(subject.source(statement))
    mark = statement.split("'")[1]
    seconds = []
    for _ in range(rounds):
        replayed = scene.replay(*options)
        expect_equal(f"{subject.name}, {mark}", full.probed(mark), replayed.probed())
        seconds.append(replayed.seconds)
    executed, skipped = replayed.blocks()
    return {"seconds": seconds, "executed": executed, "skipped": skipped, "lines": len(full.probed(mark))}


def speedup(row: Numbers, where: str) -> float:
    """Of whole processes."""
    return float(row["full"] / middle(row[where]["seconds"]))


def speedup_of_training(row: Numbers, where: str) -> float:
    """Without start-up: as for training that takes hours. A replay of next to nothing counts as a tenth of a second."""
    return float((row["full"] - row["start"]) / max(0.1, middle(row[where]["seconds"]) - row["start"]))


def summarize(rows: list[Numbers]) -> Numbers:
    """The range and the mean of each kind of probe."""
    found: Numbers = {"workloads": len(rows), "replays": sum(len(r[w]["seconds"]) for r in rows for w in KINDS)}
    for where in KINDS:
        for label, ratio in (("whole", speedup), ("training", speedup_of_training)):
            each = [ratio(row, where) for row in rows]
            found[f"{where}_{label}"] = {"lowest": min(each), "highest": max(each), "mean": geometric_mean(each)}
    found["lines"] = sum(row[where]["lines"] for row in rows for where in KINDS)
    return found


KINDS = ("outer", "inner")


def page(rows: list[Numbers]) -> str:
    """A line a workload."""
    heads = ["workload", "epochs", "checkpoints", "full run, s", "of that start-up, s"]
    cells_of_each = (", s", ": speed-up", ", without start-up", ": loops run")
    heads += [f"{where}{what}" for where in KINDS for what in cells_of_each]
    lines = []
    for row in rows:
        cells = [row["workload"], row["epochs"], row["checkpoints"], f"{row['full']:.1f}", f"{row['start']:.1f}"]
        for where in KINDS:
            some, loops = row[where]["seconds"], row[where]["executed"] + row[where]["skipped"]
            cells += [f"{middle(some):.1f} ({spread(some)})", f"{speedup(row, where):.1f}"]
            cells += [f"{speedup_of_training(row, where):.1f}", f"{row[where]['executed']} of {loops}"]
        lines.append(cells)
    return table(heads, lines)


def draw(rows: list[Numbers], path: Path) -> None:
    """Two panes: an outer probe, an inner one."""
    with drawing(path, columns=2, size=(8.4, 3.2)) as panes:
        for axes, where, colour in zip(panes, KINDS, (GREEN, BLUE), strict=True):
            groups = {
                "without start-up": [speedup_of_training(row, where) for row in rows],
                "whole processes": [speedup(row, where) for row in rows],
            }
            for group in bars(axes, [row["workload"] for row in rows], groups, ("#cfcfcf", colour)):
                axes.bar_label(group, fmt="%.1f", fontsize=6, padding=1)
            axes.set_title(f"{where} probe" + (f", {WORKERS} workers" if where == "inner" else ""), fontsize=9)
            axes.margins(y=0.25)  # room for the legend
            axes.legend(fontsize=7, loc="upper left", ncols=2)
        panes[0].set_ylabel("times faster than re-execution")


def main() -> int:
    """Measure each workload; one that fails is told, and the others are measured all the same."""
    parser = options(__doc__)
    parser.add_argument("--only", action="append", choices=list(SUBJECTS))
    parser.add_argument("--longer", type=float)
    parser.add_argument("--rounds", type=int)
    args = parser.parse_args()
    where = places(args)
    names = args.only or ([SHORTEST] if args.quick else list(SUBJECTS))
    longer, rounds = args.longer or (0.5 if args.quick else 1), args.rounds or (1 if args.quick else 2)
    rows, failures = [], []
    with tempfile.TemporaryDirectory() as home:
        for name in names:
            try:
                rows.append(measure(SUBJECTS[name], Path(home), longer, rounds))
            except Failed as failure:
                failures.append(f"{name}: {str(failure).splitlines()[0]}")  # no path of this machine in a result
                print(f"{name}: {failure}", file=sys.stderr)
    if rows:
        draw(rows, where.picture("fig09_replay_latency"))
        numbers = {"rows": rows, "failures": failures, "summary": summarize(rows)}
        where.keep("fig09_replay_latency", numbers, "Figure 9: replay latency", page(rows), *failures)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
