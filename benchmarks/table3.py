"""Table 3 of the paper: the eight workloads, in miniature.

    python benchmarks/table3.py [--quick] [--results DIR]

Parameters are counted in the scripts themselves. The seconds are those of the plain runs of record_overhead.py where it
has measured a workload, else of one run here.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from record_overhead import PLAIN
from reporting import Numbers, Places, options, places, table
from subjects import SHORTEST, SUBJECTS, Subject
from summaries import middle

COUNT = """
modules = [thing for thing in list(globals().values()) if isinstance(thing, torch.nn.Module)]
found = {id(p): p for module in modules for p in module.parameters()}
trained = {id(p) for group in optimizer.param_groups for p in group["params"]}
print("PARAMETERS", sum(p.numel() for p in found.values()), sum(p.numel() for i, p in found.items() if i in trained))
"""


def count(subject: Subject, home: Path) -> tuple[int, int]:
    """Parameters, and how many of them are trained."""
    scene = subject.scene(home)
    scene.write(subject.source() + COUNT)
    words = scene.plain("--epochs", "0").stdout.split()
    return int(words[-2]), int(words[-1])


def seconds(subject: Subject, home: Path, measured: Numbers, quick: bool) -> float:
    """How long it trains, without flor."""
    rows = measured.get(subject.name, {}).get(PLAIN, [])
    if rows:
        return middle([row["training"] for row in rows])
    return subject.scene(home).plain(*(["--epochs", "1"] if quick else [])).training()


def measure(where: Places, names: list[str]) -> list[Numbers]:
    """The rows."""
    measured = where.find("record_overhead")["results"]
    rows = []
    with tempfile.TemporaryDirectory() as home:
        for subject in (SUBJECTS[name] for name in names):
            parameters, trained = count(subject, Path(home))
            lasted = seconds(subject, Path(home), measured, where.quick)
            rows.append({"name": subject.name, "parameters": parameters, "trained": trained, "seconds": lasted})
    return rows


def page(rows: list[Numbers]) -> str:
    """The table."""
    heads = ["", "in the paper", "here", "data", "", "epochs (paper)", "parameters", "trained", "seconds"]
    return table(heads, [line(SUBJECTS[row["name"]], row) for row in rows])


def line(subject: Subject, row: Numbers) -> list[object]:
    """One workload."""
    what = [subject.name, subject.paper, subject.model, subject.data, subject.mode]
    size = [f"{row['parameters']:,}", f"{row['trained']:,}", f"{row['seconds']:.1f}"]
    return [*what, f"{subject.epochs()} ({subject.paper_epochs})", *size]


def main() -> None:
    """Count, time, and keep the table."""
    where = places(options(__doc__).parse_args())
    rows = measure(where, [SHORTEST] if where.quick else list(SUBJECTS))
    summary = {"workloads": len(rows), "least": min(r["parameters"] for r in rows), "table": page(rows)}
    summary["most"] = max(r["parameters"] for r in rows)
    where.keep("table3", {"rows": rows, "summary": summary}, "Table 3: the workloads", page(rows))


if __name__ == "__main__":
    main()
