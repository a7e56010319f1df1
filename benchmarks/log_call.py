"""What one log call costs the training thread: flor beside TensorBoard, wandb offline, mlflow and flordb.

    python benchmarks/log_call.py [--rounds 5] [--calls 5000] [--json FILE]

Each tool runs in a process of its own, the tools take turns, and medians over the rounds are shown. A tool that is not
installed is left out and named. Of each process the quickest of fifteen batches counts, less that of an empty loop: so
the machine's other work is left out as far as it can be. Checkpoints are off: their cost has its own benchmark. The
last rows are a bare loop of 10^7 iterations, plain and recorded, as a ratio.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from machine import facts_line

TIMER = """
import sys, time
calls = int(sys.argv[1])
def lowest(many):
    many()
    batches = []
    for _ in range(15):
        begun = time.perf_counter()
        many()
        batches.append((time.perf_counter() - begun) / calls * 1e6)
    return min(batches)
def empty():
    for _ in range(calls): pass
def measure(name, many):
    print("RESULT", name, lowest(many) - lowest(empty))
"""

FLOR = """
import flor, torch
grad = torch.rand(16)
def floats():
    for _ in range(calls): flor.log("loss", 0.5)
def tensors():
    for _ in range(calls): flor.log("grad", grad)
measure("flor.log float", floats)
measure("flor.log small tensor", tensors)
"""

TENSORBOARD = """
import torch
from torch.utils.tensorboard import SummaryWriter
writer = SummaryWriter("events")
def many():
    for _ in range(calls): writer.add_scalar("loss", 0.5)
measure("tensorboard add_scalar", many)
writer.close()
"""

WANDB = """
import os
os.environ.update(WANDB_MODE="offline", WANDB_SILENT="true")
import wandb
calls = min(calls, 1000)
run = wandb.init(project="bench")
def many():
    for _ in range(calls): wandb.log({"loss": 0.5})
measure("wandb.log offline", many)
run.finish()
"""

MLFLOW = """
import mlflow
mlflow.set_tracking_uri("sqlite:///mlflow.db")
calls = min(calls, 50)
def many():
    for _ in range(calls): mlflow.log_metric("loss", 0.5)
with mlflow.start_run():
    measure("mlflow.log_metric", many)
"""

FLORDB = """
import subprocess
subprocess.run("git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first", shell=True)
import flordb as flor
def many():
    for _ in range(calls): flor.log("loss", 0.5)
measure("flordb.log float", many)
"""

BARE = """
import time
def work():
    total = 0
    for i in range(10**7):
        total += i
    return total
def timed():
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1e6
print("RESULT", NAME, min([timed(), timed(), timed(), timed(), timed()]))
"""


def run(code: str, command: list[str], calls: int) -> dict[str, float]:
    """The results that a script prints, run in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "bench.py").write_text(code)
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            [*command, "bench.py", str(calls)], cwd=folder, env=environment, capture_output=True, text=True
        )
    rows = [line.split(" ") for line in done.stdout.splitlines() if line.startswith("RESULT")]
    return {" ".join(row[1:-1]): float(row[-1]) for row in rows}


def main() -> None:
    """Take turns, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=5000)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--peers", default=sys.executable, help="a python that has wandb and mlflow")
    parser.add_argument("--flordb", help="a python that has flordb instead of flor")
    parser.add_argument("--markdown", type=Path)
    args = parser.parse_args()
    python, flor = [sys.executable], [sys.executable, "-m", "flor", "record", "--materialize", "off"]
    tools: list[tuple[str, list[str]]] = [
        (TIMER + FLOR, flor),
        (TIMER + TENSORBOARD, python),
        (TIMER + WANDB, [args.peers]),
        (TIMER + MLFLOW, [args.peers]),
        (BARE.replace("NAME", "'bare loop, plain'"), python),
        (BARE.replace("NAME", "'bare loop, recorded'"), flor),
    ]
    if args.flordb:
        tools.append((TIMER + FLORDB, [args.flordb]))
    results: dict[str, list[float]] = {}
    for _ in range(args.rounds):
        for code, command in tools:
            for name, value in run(code, command, args.calls).items():
                results.setdefault(name, []).append(value)
    medians = {name: statistics.median(values) for name, values in results.items()}
    ratio = medians["bare loop, recorded"] / medians["bare loop, plain"]
    lines = ["| call | median, microseconds | lowest | rounds |", "|---|---|---|---|"]
    lines += [f"| {name} | {medians[name]:,.2f} | {min(v):,.2f} | {len(v)} |" for name, v in results.items()]
    lines += ["", f"A bare loop of 10^7 iterations in a recorded function, recorded / plain: {ratio:.3f}."]
    print("\n".join(lines))
    if args.markdown:
        title = [
            "# What one log call costs the training thread",
            "",
            f"`python benchmarks/log_call.py --rounds {args.rounds}`",
        ]
        args.markdown.write_text("\n".join([*title, "", facts_line(), "", *lines, ""]))
    if args.json:
        args.json.write_text(json.dumps({"medians": medians, "rounds": results, "bare_ratio": ratio}, indent=1))


if __name__ == "__main__":
    main()
