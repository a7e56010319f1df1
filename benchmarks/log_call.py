"""What one log call costs the training thread: flor beside TensorBoard, wandb offline, mlflow and flordb.

    python benchmarks/log_call.py [--rounds 5] [--calls 2000] [--json FILE]

Each tool runs in a process of its own, the tools take turns, and medians over the rounds are shown. A tool that is not
installed is left out and named. The last rows are a bare loop of 10^7 iterations, plain and recorded, as a ratio.
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

TIMER = """
import sys, time
calls = int(sys.argv[1])
def measure(name, log, value):
    for _ in range(200): log(value)
    best = []
    for _ in range(5):
        begun = time.perf_counter()
        for _ in range(calls): log(value)
        best.append((time.perf_counter() - begun) / calls * 1e6)
    print("RESULT", name, min(best))
"""

FLOR = """
import flor, torch
measure("flor.log float", lambda v: flor.log("loss", v), 0.5)
measure("flor.log small tensor", lambda v: flor.log("grad", v), torch.rand(16))
"""

TENSORBOARD = """
import torch
from torch.utils.tensorboard import SummaryWriter
writer = SummaryWriter("events")
measure("tensorboard add_scalar", lambda v: writer.add_scalar("loss", v), 0.5)
writer.close()
"""

WANDB = """
import os
os.environ.update(WANDB_MODE="offline", WANDB_SILENT="true")
import wandb
run = wandb.init(project="bench")
measure("wandb.log offline", lambda v: wandb.log({"loss": v}), 0.5)
run.finish()
"""

MLFLOW = """
import mlflow
mlflow.set_tracking_uri("sqlite:///mlflow.db")
calls = min(calls, 100)
with mlflow.start_run():
    measure("mlflow.log_metric", lambda v: mlflow.log_metric("loss", v), 0.5)
"""

FLORDB = """
import subprocess
subprocess.run("git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first", shell=True)
import flor
measure("flordb.log float", lambda v: flor.log("loss", v), 0.5)
"""

BARE = """
import time
def work():
    total = 0
    for i in range(10**7):
        total += i
    return total
begun = time.perf_counter()
work()
print("RESULT", NAME, (time.perf_counter() - begun) * 1e6)
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
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--flordb", help="a python that has flordb instead of flor")
    args = parser.parse_args()
    python, flor = [sys.executable], [sys.executable, "-m", "flor", "record"]
    tools: list[tuple[str, list[str]]] = [
        (TIMER + FLOR, flor),
        (TIMER + TENSORBOARD, python),
        (TIMER + WANDB, python),
        (TIMER + MLFLOW, python),
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
    print("| call | median, microseconds | lowest | rounds |\n|---|---|---|---|")
    for name, values in results.items():
        print(f"| {name} | {medians[name]:,.2f} | {min(values):,.2f} | {len(values)} |")
    ratio = medians["bare loop, recorded"] / medians["bare loop, plain"]
    print(f"\na bare loop of 10^7 iterations, recorded / plain: {ratio:.3f}")
    if args.json:
        args.json.write_text(json.dumps({"medians": medians, "rounds": results, "bare_ratio": ratio}, indent=1))


if __name__ == "__main__":
    main()
