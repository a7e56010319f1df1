"""flor beside flordb 4.0.1, each in its own way of recording, on two of the workloads.

    python benchmarks/flordb.py --flordb PYTHON [--quick] [--rounds 2]

PYTHON is an interpreter that has flordb; torch may come from this one's packages. flordb records what a script tells
it: the loops become `flor.loop`, the loss `flor.log`, the epochs `flor.arg`, as its README shows; it commits each run
into git and replays by running the script again from its start. flor records the script as it is. The oracle of both is
a full run with the probe. Times of recording are of the training and of the process, of replays of the command.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from pathlib import Path

from drawing import BLUE, GREY, ORANGE, bars, drawing
from reporting import Numbers, options, places, table
from scenes import Failed, Ran, Scene
from subjects import INNER, NORM, OUTER, SUBJECTS, Subject, insert
from summaries import middle, spread

NAMES = ("rte", "wiki")
KINDS = {"outer": OUTER, "inner": INNER}
_INNER_LOOP = re.compile(r"^( +for \w+ in )(.+):$", re.MULTILINE)


def for_flordb(subject: Subject, epochs: int, *probes: str) -> str:
    """The workload as somebody writes it who uses flordb."""
    text = subject.source()
    text = text.replace("import argparse\n", "import argparse\nimport flordb as flor\n", 1)
    text = text.replace("parser.parse_args()", f'parser.parse_args([])\nargs.epochs = flor.arg("epochs", {epochs})')
    text = text.replace("in range(args.epochs):", 'in flor.loop("epoch", range(args.epochs)):')
    text = _INNER_LOOP.sub(r'\1flor.loop("step", \2):', text, count=1)
    text = insert(text, 'print(f"epoch ', 'flor.log("loss", total)')
    if "outer" in probes:
        text = insert(text, 'flor.log("loss", total)', f'flor.log("outer", {NORM})')
    return insert(text, "total += loss.item()", f'flor.log("inner", {NORM})') if "inner" in probes else text


class Peer:
    """flordb in a git repository of its own."""

    def __init__(self, subject: Subject, home: Path, python: str, epochs: int) -> None:
        self.subject, self.python, self.epochs = subject, python, epochs
        scene = subject.scene(home / "flordb")
        environment = {"PATH": f"{Path(python).parent}:{os.environ['PATH']}", "PYTHONPATH": str(home / "borrowed")}
        (home / "borrowed").mkdir(parents=True, exist_ok=True)
        lend = f"import sys\nsys.path.append({sysconfig.get_path('purelib')!r})\n"  # behind its own packages
        (home / "borrowed" / "sitecustomize.py").write_text(lend)
        self.scene = Scene(scene.folder, environment)

    def begin(self) -> None:
        """A new repository with the script in it."""
        self.scene.run("rm", "-rf", ".git", ".flor")
        self.scene.write(for_flordb(self.subject, self.epochs))
        (self.scene.folder / ".gitignore").write_text("__pycache__\n")
        self.scene.run("git", "init", "-q", ".")
        for key, value in (("user.name", "somebody"), ("user.email", "somebody@localhost")):
            self.scene.run("git", "config", key, value)
        self.scene.run("git", "add", "-A")
        self.scene.run("git", "commit", "-q", "-m", "first")

    def record(self) -> Ran:
        """A run, as the README says."""
        self.begin()
        return self.scene.run(self.python, "train.py")

    def replay(self, kind: str) -> tuple[float, list[float]]:
        """Add the statement, replay, and read the values."""
        self.scene.write(for_flordb(self.subject, self.epochs, kind))
        every = "--iter epoch=all --iter step=all" if kind == "inner" else ""
        done = self.scene.run("sh", "-c", f"echo y | {self.python} -m flordb replay --apply {kind} {every}")
        show = f"import flordb, json; print('VALUES', json.dumps(list(flordb.dataframe('{kind}')['{kind}'])))"
        shown = self.scene.run(self.python, "-c", show)
        (values,) = (line for line in shown.stdout.splitlines() if line.startswith("VALUES"))
        return done.seconds, [float(value) for value in json.loads(values.removeprefix("VALUES "))]

    def bytes(self) -> int:
        """On disk: its folder, and git's."""
        return size(self.scene.folder / ".flor") + size(self.scene.folder / ".git")


class Ours:
    """flor on the script as it is."""

    def __init__(self, subject: Subject, home: Path, epochs: int) -> None:
        self.subject, self.epochs = subject, epochs
        self.scene = subject.scene(home / "flor")

    def record(self) -> Ran:
        """A run."""
        self.scene.write(self.subject.source())
        return self.scene.record("--epochs", str(self.epochs))

    def replay(self, kind: str) -> tuple[float, list[float]]:
        """Add the statement, replay, and read the values."""
        self.scene.write(self.subject.source(KINDS[kind]))
        done = self.scene.replay()
        return done.seconds, values(done, kind)

    def bytes(self) -> int:
        """On disk."""
        return size(self.scene.folder / ".flor")


def values(ran: Ran, kind: str) -> list[float]:
    """The last number of each of the probe's lines."""
    return [float(line.split()[-1]) for line in ran.probed(f"PROBE {kind}")]


def size(folder: Path) -> int:
    """The bytes of all files."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def measure(subject: Subject, home: Path, python: str, epochs: int, rounds: int) -> list[Numbers]:
    """A row for each tool."""
    scene = subject.scene(home / "plain")
    scene.write(subject.source(OUTER, INNER))
    oracle = scene.plain("--epochs", str(epochs))
    scene.write(subject.source())
    plain = [scene.plain("--epochs", str(epochs)) for _ in range(rounds)]
    makers: dict[str, Callable[[], Peer | Ours]] = {
        "flor": lambda: Ours(subject, home, epochs),
        "flordb": lambda: Peer(subject, home, python, epochs),
    }
    return [
        {"workload": subject.name, "tool": name, "epochs": epochs, **judge(make(), oracle, plain)}
        for name, make in makers.items()
    ]


def judge(tool: Peer | Ours, oracle: Ran, plain: list[Ran]) -> Numbers:
    """Record as often as plain was run, then replay with each probe once."""
    recorded = [tool.record() for _ in plain]
    stored = tool.bytes()
    found: Numbers = {
        "plain": [ran.training() for ran in plain],
        "training": [ran.training() for ran in recorded],
        "process": [ran.seconds for ran in recorded],
        "plain_process": [ran.seconds for ran in plain],
        "full": oracle.seconds,
        "bytes": stored,
    }
    for kind in KINDS:
        try:
            seconds, got = tool.replay(kind)
        except Failed as failure:
            found[kind] = {"seconds": None, "exact": False, "why": str(failure).splitlines()[0]}
        else:
            found[kind] = {"seconds": seconds, "exact": got == values(oracle, kind), "values": len(got)}
    return found


def overhead(row: Numbers) -> float:
    """Of training, in per cent of the plain median."""
    return 100 * (middle(row["training"]) / middle(row["plain"]) - 1)


def summarize(rows: list[Numbers]) -> Numbers:
    """Of each tool: overhead, speed-up of replays, exact ones, bytes."""
    found: Numbers = {}
    for tool in ("flor", "flordb"):
        some = [row for row in rows if row["tool"] == tool]
        replays = [(row["full"], row[kind]) for row in some for kind in KINDS]
        done = [full / one["seconds"] for full, one in replays if one["seconds"]]
        found[tool] = {
            "overhead": max(overhead(row) for row in some),
            "replays": len(replays),
            "exact": sum(one["exact"] for _, one in replays),
            "speedup": middle(done) if done else None,
            "mb": sum(row["bytes"] for row in some) / 1e6,
        }
    return found


def page(rows: list[Numbers]) -> str:
    """A line for each workload and tool."""
    heads = ["workload", "tool", "plain, s", "recorded, s", "overhead", "process, s", "MB on disk", "full run, s"]
    heads += [f"replay, {kind} probe, s" for kind in KINDS]
    lines = []
    for row in rows:
        cells = [row["workload"], row["tool"], f"{middle(row['plain']):.2f}", spread(row["training"])]
        cells += [f"{overhead(row):+.1f} %", f"{middle(row['process']):.1f}", f"{row['bytes'] / 1e6:.1f}"]
        cells += [f"{row['full']:.1f}", *(shown(row[kind]) for kind in KINDS)]
        lines.append(cells)
    return table(heads, lines)


def shown(replay: Numbers) -> str:
    """The seconds of a replay, and whether its values are those of the full run."""
    if replay["seconds"] is None:
        return "failed"
    return f"{replay['seconds']:.1f}, {'exact' if replay['exact'] else 'NOT EXACT'}"


def draw(rows: list[Numbers], path: Path) -> None:
    """Seconds of a replay beside those of a full run."""
    names = [f"{row['workload']}, {kind}" for row in rows if row["tool"] == "flor" for kind in KINDS]
    groups = {"full run": [row["full"] for row in rows if row["tool"] == "flor" for _ in KINDS]}
    for tool in ("flordb", "flor"):
        groups[f"replay, {tool}"] = [row[k]["seconds"] or 0 for row in rows if row["tool"] == tool for k in KINDS]
    with drawing(path) as axes:
        for group in bars(axes, names, dict(groups), (GREY, ORANGE, BLUE)):
            axes.bar_label(group, fmt="%.1f", fontsize=7, padding=2)
        axes.set_ylabel("seconds")
        axes.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, 1.16), fontsize=8)


def main() -> int:
    """Measure both tools."""
    parser = options(__doc__)
    parser.add_argument("--flordb", help="an interpreter that has flordb 4.0.1", required=True)
    parser.add_argument("--rounds", type=int)
    args = parser.parse_args()
    where, rounds = places(args), args.rounds or (1 if args.quick else 2)
    check = "import importlib.metadata as m; print(m.version('flordb'))"
    version = subprocess.run([args.flordb, "-c", check], capture_output=True, text=True).stdout.strip()
    if not version:
        sys.exit(f"{args.flordb} has no flordb")
    rows = []
    with tempfile.TemporaryDirectory() as home:
        for name in NAMES[:1] if args.quick else NAMES:
            epochs = 2 if args.quick else SUBJECTS[name].epochs()
            rows += measure(SUBJECTS[name], Path(home) / name, args.flordb, epochs, rounds)
    draw(rows, where.picture("flordb"))
    summary = {**summarize(rows), "version": version}
    where.keep("flordb", {"rows": rows, "summary": summary}, f"flor beside flordb {version}", page(rows))
    return 0 if summary["flor"]["exact"] == summary["flor"]["replays"] else 1


if __name__ == "__main__":
    sys.exit(main())
