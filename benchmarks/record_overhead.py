"""What recording costs training: the paper's eight workloads in miniature, with and without flor.

    OMP_NUM_THREADS=1 python benchmarks/record_overhead.py --json FILE [--only rte ...] [--rounds 3] [--markdown FILE]
    [--epochs 2] [--once "flor 1 %" ...] [--ways plain flor ...]

Every way runs every workload (benchmarks/workloads, plain scripts) in turn; a result file that exists is added to.
What is compared is the time that the script itself takes around its training loop. The start-up of a process (python,
torch, and for flor its own) is the rest of the process's time and is shown apart. The plain script runs twice in every
round, at its beginning and in its middle. The noise of a workload is the standard error of a difference between flor
and plain, if the runs of both are spread as those of plain are.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from machine import facts, facts_line

WORKLOADS = Path(__file__).parent / "workloads"
NAMES = ("rte", "cola", "cifr", "rsnt", "wiki", "jasp", "imgn", "rnnt")
PLAIN, BY_HAND, FLOR, OFF = "plain", "torch.save each epoch", "flor", "flor, adaptivity off"
WAYS: dict[str, list[str] | None] = {
    PLAIN: None,
    FLOR: ["--overhead", str(1 / 15)],
    f"{FLOR} 2 %": ["--overhead", "0.02"],
    f"{FLOR} 1 %": ["--overhead", "0.01"],
    OFF: ["--overhead", "inf"],
    BY_HAND: None,
}
TURN = (PLAIN, FLOR, f"{FLOR} 2 %", PLAIN, f"{FLOR} 1 %", OFF, BY_HAND)  # one round
TOLERANCES = {FLOR: 1 / 15, f"{FLOR} 2 %": 0.02, f"{FLOR} 1 %": 0.01}
Result = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """One workload, run in one way."""

    workload: str
    way: str
    arguments: tuple[str, ...] = ()

    def run(self) -> Result:
        """Seconds of training and of the whole process, and for flor what it kept."""
        options = WAYS[self.way]
        script = [str(WORKLOADS / f"{self.workload}.py"), *self.arguments, *(["--save"] if self.way == BY_HAND else [])]
        flor = ["-m", "flor", "record", "--store", "store", "--name", "run", *options] if options else []
        with tempfile.TemporaryDirectory(dir=".") as folder:
            os.sync()
            begun = time.perf_counter()
            done = subprocess.run(
                [sys.executable, *flor, *script], cwd=folder, capture_output=True, text=True, check=True
            )
            lasted = time.perf_counter() - begun
            found: Result = {"process": lasted, "training": float(done.stdout.split()[-1])}
            return {**found, **(_kept(Path(folder, "store")) if options else {})}


def _kept(store: Path) -> Result:
    from flor.query.runs import run

    found = run("run", store)
    account, notes = found.ended["checkpoints"], [note.values for note in found.checkpoints]
    return {
        "checkpoints": len(notes),
        "spent": account["seconds"],
        "bytes": [note["bytes_written"] for note in notes],
        "logical": [note["bytes_logical"] for note in notes],
        "epochs": sorted({_epoch(note["key"]) for note in notes}),
        "left_out": account["left_out"],
    }


def _epoch(key: Result) -> int:
    """The iteration of the outermost loop at which a checkpoint was taken."""
    return int(key["parent"][0][2] if key["parent"] else -1 if key["iteration"] is None else key["iteration"])


def overheads(results: dict[str, dict[str, list[Result]]], workload: str) -> dict[str, float]:
    """Medians, as shares of the plain median."""
    middle = {way: statistics.median(r["training"] for r in rows) for way, rows in results[workload].items() if rows}
    return {way: seconds / middle[PLAIN] - 1 for way, seconds in middle.items()}


def noise(results: dict[str, dict[str, list[Result]]], workload: str) -> float:
    """By how much a share is wrong by chance: its standard error, from how far apart runs of the same script are."""
    plain = [row["training"] for row in results[workload][PLAIN]]
    if len(plain) < 2:
        return float("nan")
    spread, rounds = statistics.stdev(plain) / statistics.mean(plain), len(results[workload].get(FLOR, plain))
    return spread * math.sqrt(1 / len(plain) + 1 / rounds)


def markdown(results: dict[str, dict[str, list[Result]]]) -> str:
    """The table, and what of the promises it shows."""
    ways = [way for way in WAYS if way != PLAIN]
    lines = [
        "| workload | plain, s | spread of plain | noise | " + " | ".join(ways) + " | checkpoints (flor) |",
        "|---" * (len(ways) + 5) + "|",
    ]
    for name in [name for name in NAMES if name in results]:
        shares, plain = overheads(results, name), [r["training"] for r in results[name][PLAIN]]
        middle = statistics.median(plain)
        cells = [f"{100 * shares[way]:+.1f} %" if way in shares else "-" for way in ways]
        spread = f"{100 * (min(plain) / middle - 1):+.1f} to {100 * (max(plain) / middle - 1):+.1f} %"
        counts = [row["checkpoints"] for row in results[name].get(FLOR, [])]
        first = [name, f"{middle:.1f}", spread, f"{100 * noise(results, name):.1f} %"]
        lines.append(f"| {' | '.join([*first, *cells])} | {min(counts)} to {max(counts)} |")
    return "\n".join([*lines, "", *verdicts(results)])


def above(results: dict[str, dict[str, list[Result]]], shares: dict[str, float], tolerance: float) -> str:
    """Which workloads are above the tolerance, and which of them by more than can be chance."""
    over = [name for name in shares if shares[name] > tolerance]
    beyond = [name for name in over if shares[name] > tolerance + 2 * noise(results, name)]
    if not over:
        return "None is above it."
    return f"Above it: {', '.join(over)}; by more than twice the noise: {', '.join(beyond) or 'none'}."


def by_its_own_account(results: dict[str, dict[str, list[Result]]], way: str) -> str:
    """What flor itself has measured as its cost, which has no noise of two runs in it."""
    shares = {
        name: statistics.median(row["spent"] / (row["training"] - row["spent"]) for row in rows[way])
        for name, rows in results.items()
        if rows.get(way)
    }
    worst = max(shares, key=lambda name: shares[name])
    mean = statistics.mean(shares.values())
    return f"By its own account {100 * mean:.1f} % in the mean, {100 * shares[worst]:.1f} % at most ({worst})."


def verdicts(results: dict[str, dict[str, list[Result]]]) -> list[str]:
    """The mean, the worst at each tolerance, the bytes of fine-tuning, the start-up."""
    lines = []
    for way, tolerance in TOLERANCES.items():
        shares = {name: overheads(results, name)[way] for name in results if results[name].get(way)}
        worst = max(shares, key=lambda name: shares[name])
        lines.append(
            f"- {way}: mean {100 * statistics.mean(shares.values()):.1f} %, highest {100 * shares[worst]:.1f} % "
            f"({worst}, noise {100 * noise(results, worst):.1f} %), tolerance {100 * tolerance:.2f} %. "
            f"{above(results, shares, tolerance)} {by_its_own_account(results, way)}"
        )
    for name in ("rte", "cola"):
        if name in results:
            row = results[name][FLOR][-1]
            share = max((b / lo for b, lo in list(zip(row["bytes"], row["logical"], strict=True))[1:]), default=0.0)
            lines.append(
                f"- {name}: after the first, a checkpoint writes at most {100 * share:.1f} % of the state; "
                f"checkpoints at epochs {row['epochs']}."
            )
    start = {
        way: [r["process"] - r["training"] for rows in results.values() for r in rows[way]] for way in (PLAIN, FLOR)
    }
    plain, flor = (statistics.median(start[way]) for way in (PLAIN, FLOR))
    lines.append(f"- start-up and end of a process: plain {plain:.2f} s, with flor {flor:.2f} s.")
    return lines


def main() -> None:
    """Take turns, then print and keep the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=list(NAMES), choices=NAMES)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, required=True, help="goes on with what is in it")
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--once", nargs="+", default=[], choices=WAYS, help="ways of which one round is enough")
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=WAYS)
    parser.add_argument("--epochs", type=int, help="other than each workload has of its own, for a quick look")
    args = parser.parse_args()
    kept = json.loads(args.json.read_text()) if args.json.exists() else {"machine": facts(), "results": {}}
    results = kept["results"]
    arguments = ("--epochs", str(args.epochs)) if args.epochs else ()
    for turn in range(args.rounds):
        for workload in args.only:
            for way in (way for way in TURN if way in args.ways and (turn == 0 or way not in args.once)):
                results.setdefault(workload, {}).setdefault(way, []).append(Case(workload, way, arguments).run())
            args.json.write_text(json.dumps(kept, indent=1))
    if all(results[name].get(BY_HAND) for name in results):
        text = markdown(results)
        print(text)
        if args.markdown:
            args.markdown.write_text(f"{text}\n\nMeasured on: {facts_line()}.\n")


if __name__ == "__main__":
    main()
