"""What a run takes on disk: the state of all its checkpoints, what is written of it, and both with gzip.

    python benchmarks/storage.py [--quick] [--only NAME]...

Each workload is recorded as it is. The state is what its checkpoints would take if each were written whole, as the
paper's are; written is what flor writes, which leaves out what is stored already. By hand is the file that the script
itself saves with `--save`, once an epoch: without gradients and random states, from which nothing replays exactly.
"""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Iterable
from pathlib import Path

from drawing import BLUE, GREEN, GREY, ORANGE, bars, drawing
from reporting import Numbers, options, places, table
from subjects import SHORTEST, SUBJECTS, Subject

MB = 1e6
KEYS = ("logical", "by_hand", "written", "zipped")


def measure(subject: Subject, home: Path, epochs: int) -> Numbers:
    """The bytes of one run."""
    scene = subject.scene(home)
    scene.record("--epochs", str(epochs))
    kept = scene.checkpoints()
    files = [path for path in (scene.folder / ".flor").rglob("*") if path.is_file()]
    found = {
        "workload": subject.name,
        "epochs": epochs,
        "checkpoints": len(kept),
        "logical": sum(one["logical"] for one in kept),
        "written": sum(one["written"] for one in kept),
        "store": sum(path.stat().st_size for path in files),
        "zipped": zipped(files),
    }
    scene.plain("--epochs", "1", "--save")
    return {**found, "by_hand": epochs * (scene.folder / "epoch0.pt").stat().st_size}


def zipped(files: Iterable[Path]) -> int:
    """The size of these files, compressed as gzip does."""
    return sum(compressed(path) for path in files)


def compressed(path: Path) -> int:
    """The size of one file after gzip -1: on weights the higher levels gain nothing and take ten times as long."""
    packer, size = zlib.compressobj(1), 0
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            size += len(packer.compress(piece))
    return size + len(packer.flush())


def summarize(rows: list[Numbers]) -> Numbers:
    """How many times smaller, in all and by workload."""
    totals = {key: sum(row[key] for row in rows) for key in KEYS}
    each = {row["workload"]: row["logical"] / row["written"] for row in rows}
    return {
        **{f"{key}_mb": totals[key] / MB for key in KEYS},
        "workloads": len(rows),
        "fold": totals["logical"] / totals["written"],
        "gzip_fold": totals["written"] / totals["zipped"],
        "best": max(each.values()),
        "best_name": max(each, key=lambda name: each[name]),
        "worst": min(each.values()),
    }


def page(rows: list[Numbers]) -> str:
    """A line a workload."""
    heads = [
        "workload",
        "epochs",
        "checkpoints",
        "state, MB",
        "by hand, MB",
        "written, MB",
        "gzip, MB",
        "smaller",
    ]
    lines = []
    for row in rows:
        sizes = [f"{row[key] / MB:.1f}" for key in KEYS]
        fold = f"{row['logical'] / row['written']:.1f} x"
        lines.append([row["workload"], row["epochs"], row["checkpoints"], *sizes, fold])
    return table(heads, lines)


def draw(rows: list[Numbers], path: Path) -> None:
    """Four bars a workload, on a logarithmic axis."""
    labels = ("state of all checkpoints", "by hand: torch.save each epoch", "written by flor", "the same, gzip")
    with drawing(path) as axes:
        groups = {label: [row[key] / MB for row in rows] for label, key in zip(labels, KEYS, strict=True)}
        bars(axes, [row["workload"] for row in rows], groups, (GREY, ORANGE, BLUE, GREEN))
        axes.set_yscale("log")
        axes.set_ylim(bottom=1)
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.set_ylabel("MB a run")
        axes.legend(ncols=2, loc="upper center", bbox_to_anchor=(0.5, 1.24), fontsize=8)


def main() -> None:
    """Record each and weigh it."""
    parser = options(__doc__)
    parser.add_argument("--only", action="append", choices=list(SUBJECTS))
    args = parser.parse_args()
    where = places(args)
    names = args.only or ([SHORTEST] if args.quick else list(SUBJECTS))
    with tempfile.TemporaryDirectory() as home:
        some = [SUBJECTS[name] for name in names]
        rows = [measure(subject, Path(home), 2 if args.quick else subject.epochs()) for subject in some]
    draw(rows, where.picture("storage"))
    where.keep("storage", {"rows": rows, "summary": summarize(rows)}, "Storage of a run", page(rows))


if __name__ == "__main__":
    main()
