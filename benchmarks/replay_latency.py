"""How near a replay comes to the least time that it could take.

    python benchmarks/replay_latency.py [--rounds 3] [--only outer|inner|scale] [--shorter 1] [--seconds 5]
        [--markdown FILE] [--json FILE]

A result file that exists is added to: what is measured anew is replaced.

outer   A probe after the inner loop of a run of 100 epochs, one worker: the replay's time over the sum of what it
        can't do without: start-up (the same replay of a run of one epoch), the restores, the outer loop's own work.
inner   A probe in the inner loop, two workers with one thread each: the speed-up over a full run with the probe,
        as a share of the ideal one. What is ideal on this machine is measured too: two plain processes side by side,
        each with half of the epochs, since two busy cores share caches, memory and clock. The share of 2 is shown
        beside it.
scale   200 epochs of sleeping batches, as on an accelerator, on 16 workers: the speed-up over the recorded run. The
        ceiling is 200/13 = 15.38, since some worker has 13 epochs. `--seconds` is how long an epoch sleeps.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from machine import facts, facts_line

TRAIN = """
import sys, time
import torch
from sklearn.datasets import load_digits

torch.manual_seed(0)
torch.set_num_threads(1)
digits = load_digits()
x = torch.tensor(digits.data, dtype=torch.float32) / 16
y = torch.tensor(digits.target)
net = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
own = 0.0
for epoch in range(int(sys.argv[1])):
    for step in range(int(sys.argv[2])):
        pick = torch.randint(len(x), (256,))
        loss = torch.nn.functional.cross_entropy(net(x[pick]), y[pick])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        # inner
    begun = time.perf_counter()
    with torch.no_grad():
        right = (net(x).argmax(1) == y).float().mean().item()
    print(epoch, right)
    # outer
    own += time.perf_counter() - begun
print("outer loop's own work:", own)
"""

SLEEP = """
import sys, time
import numpy

random = numpy.random.default_rng(0)
weights = random.normal(size=(64, 64))
for epoch in range(200):
    for batch in range(5):
        time.sleep(float(sys.argv[1]) / 5)
        weights += 0.01 * random.normal(size=weights.shape)
        # inner
    print(epoch, float(weights.sum()))
"""

NORM = "print('PROBE', epoch, sum(float(p.norm()) for p in net.parameters()))"
GRAD = "print('PROBE', epoch, step, net[0].weight.grad.norm().item())"
WEIGHTS = "print('PROBE', epoch, batch, float(weights.std()))"
MEASUREMENTS = ("outer", "inner", "scale")

MEANING = """- **outer**: a probe of each of 100 epochs, one worker. The ratio is to start-up + restores + the outer
  loop's own work. Goal 1.3.
- **inner**: a probe of each batch, two workers with one thread each. The ideal is measured: two plain processes side
  by side, each with half of the epochs. Goal 0.9 of it.
- **scale**: 200 epochs of sleeping batches on 16 workers. Goal 14.5; the rest is the start of 16 processes on 2 cores,
  which weighs the less the longer an epoch is."""


def surroundings() -> dict[str, str]:
    """The environment of everything that is run: one thread, and streams buffered as they are unless one asks."""
    return {**{name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}, "OMP_NUM_THREADS": "1"}


@dataclass
class Folder:
    """A folder with a script in it, and what is run there."""

    path: Path
    script: str

    def __post_init__(self) -> None:
        self.path.mkdir(parents=True)
        self.write("")

    def write(self, probe: str, at: str = "") -> None:
        """The script, with the probe at the place that is marked so."""
        (self.path / "train.py").write_text(self.script.replace(f"# {at}\n", f"{probe}\n") if at else self.script)

    def run(self, *command: str) -> tuple[float, str]:
        """Seconds and stdout of a command, which must go well."""
        begun = time.perf_counter()
        done = subprocess.run(command, cwd=self.path, env=surroundings(), capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
        return time.perf_counter() - begun, done.stdout

    def plain(self, *args: str) -> tuple[float, str]:
        """A run without flor."""
        return self.run(sys.executable, "train.py", *args)

    def side_by_side(self, *args: str) -> float:
        """Seconds until two runs without flor have ended that began together."""
        begun = time.perf_counter()
        command = [sys.executable, "train.py", *args]
        with ThreadPoolExecutor(2) as pool:  # each reads what its process prints
            runs = [
                pool.submit(subprocess.run, command, cwd=self.path, env=surroundings(), capture_output=True)
                for _ in "ab"
            ]
        if any(run.result().returncode for run in runs):
            sys.exit(f"{' '.join(command)} failed")
        return time.perf_counter() - begun

    def record(self, *args: str) -> str:
        """A recorded run."""
        return self.run(sys.executable, "-m", "flor", "record", "train.py", *args)[1]

    def replay(self, *options: str) -> tuple[float, str]:
        """A replay that is not answered from an earlier one."""
        for kept in (self.path / ".flor" / "runs").glob("*/replays"):
            subprocess.run(["rm", "-rf", str(kept)], check=True)
        return self.run(sys.executable, "-m", "flor", "replay", *options)

    def restored(self) -> float:
        """Seconds of all restores that replays have noted in this store."""
        found = [json.loads(line) for file in (self.path / ".flor").glob("restores*") for line in file.open()]
        return sum(float(row["restore"]) for row in found)


def probed(stdout: str) -> list[str]:
    """The probe's lines."""
    return [line for line in stdout.splitlines() if line.startswith("PROBE")]


def outer(home: Path, rounds: int, shorter: int = 1) -> dict[str, float]:
    """An outer probe on a run of 100 epochs."""
    long, short = Folder(home / "long", TRAIN), Folder(home / "short", TRAIN)
    epochs = str(100 // shorter)
    own = float(re.findall(r"own work: ([\d.]+)", long.record(epochs, "300"))[0])
    short.record("1", "300")
    for folder in (long, short):
        folder.write(NORM, "outer")
    full, oracle = long.plain(epochs, "300")
    times, starts, restores = [], [], []
    for _ in range(rounds):
        before = long.restored()
        seconds, stdout = long.replay("-j", "1")
        assert probed(stdout) == probed(oracle), "the replay is not what the full run prints"
        times.append(seconds)
        restores.append(long.restored() - before)
        starts.append(short.replay("-j", "1")[0])
    start, restore, took = map(statistics.median, (starts, restores, times))
    least = start + restore + own
    return {
        "full": full,
        "replay": took,
        "start-up": start,
        "restores": restore,
        "own work": own,
        "ratio": took / least,
    }


def inner(home: Path, rounds: int, shorter: int = 1) -> dict[str, float]:
    """An inner probe on two workers."""
    folder = Folder(home / "inner", TRAIN)
    epochs = 60 // shorter
    folder.record(str(epochs), "1500")
    folder.write(GRAD, "inner")
    fulls, halves, times = [], [], []
    for _ in range(rounds):
        full, oracle = folder.plain(str(epochs), "1500")
        halves.append(folder.side_by_side(str((epochs + 1) // 2), "1500"))
        seconds, stdout = folder.replay("-j", "2")
        assert probed(stdout) == probed(oracle), "the replay is not what the full run prints"
        fulls.append(full)
        times.append(seconds)
    full, half, took = map(statistics.median, (fulls, halves, times))
    return {
        "full": full,
        "two plain halves side by side": half,
        "replay": took,
        "speed-up": full / took,
        "ideal speed-up": full / half,
        "share of the ideal": half / took,
        "share of 2": full / took / 2,
    }


def scale(home: Path, rounds: int, seconds: float) -> dict[str, float]:
    """Sleeping batches on 16 workers."""
    folder = Folder(home / "scale", SLEEP)
    begun = time.perf_counter()
    folder.record(str(seconds))
    full = time.perf_counter() - begun
    folder.write(WEIGHTS, "inner")
    times = []
    for _ in range(rounds):
        took, stdout = folder.replay("-j", "16")
        assert len(probed(stdout)) == 1000, "values are missing"
        times.append(took)
    took = statistics.median(times)
    return {
        "seconds an epoch": seconds, "recorded run": full, "replay": took, "speed-up": full / took,
        "ceiling": 200 / 13,
    }  # fmt: skip


def main() -> None:
    """Measure, and print a table for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=MEASUREMENTS, action="append")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--shorter", type=int, default=1, help="so many times fewer epochs, for a quick look")
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    chosen = args.only or MEASUREMENTS
    results = json.loads(args.json.read_text()) if args.json and args.json.exists() else {"machine": facts()}
    with tempfile.TemporaryDirectory() as folder:
        if "outer" in chosen:
            results["outer"] = {"rounds": args.rounds, **outer(Path(folder), args.rounds, args.shorter)}
        if "inner" in chosen:
            results["inner"] = {"rounds": args.rounds, **inner(Path(folder), args.rounds, args.shorter)}
        if "scale" in chosen:
            results["scale"] = {"rounds": 1, **scale(Path(folder), 1, args.seconds)}
    lines = ["| measurement | what | value |", "|---|---|---|"]
    lines += [
        f"| {name} | {what} | {value:.{0 if what == 'rounds' else 2}f} |"
        for name in MEASUREMENTS
        for what, value in results.get(name, {}).items()
    ]
    print("\n".join(lines))
    if args.markdown:
        head = [
            "# Replay latency",
            "`python benchmarks/replay_latency.py --only outer|inner|scale`: seconds and ratios, medians of rounds.",
            "\n".join(lines),
            MEANING,
            f"Measured on: {facts_line()}.",
        ]
        args.markdown.write_text("\n\n".join(head) + "\n")
    if args.json:
        args.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
