"""What one checkpoint of a model and its AdamW state costs training: the stall, and the steps that it slows down.

    OMP_NUM_THREADS=1 python benchmarks/checkpoint_cost.py [--gigabytes 0.3 1.2] [--rounds 5]
    [--idle 0.75 0] [--json FILE]

One process trains; in turn each tool saves once at the beginning of a window of steps. Its cost is how much longer that
window took than a window without a checkpoint, so it holds the stall and all that the background does to training.
Windows without a checkpoint differ among each other too: that is the noise floor. Before each window everything that is
under way has ended and the disk is quiet. Medians over the rounds.

For the share `--idle` of a step the processor sleeps between the gradients and the optimizer, as it waits for an
accelerator; with 0 all training is on the processor and what a background thread does is felt in full.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import shutil
import statistics
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import torch
from machine import facts, facts_line
from savers import Nothing, Saver, savers
from torch import nn

LAYERS = 6
PLAIN = "no checkpoint"


@dataclass
class Training:
    """Some training whose steps all take the same time."""

    width: int
    sleeps: float = 0.0  # seconds of each step
    model: nn.Module = field(init=False)
    optimizer: torch.optim.Optimizer = field(init=False)

    def __post_init__(self) -> None:
        torch.manual_seed(0)
        torch.set_flush_denormal(True)  # or steps take ever longer
        self.model = nn.Sequential(*(nn.Linear(self.width, self.width) for _ in range(LAYERS)))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-5, fused=True)
        self.data = torch.randn(16, self.width)

    def step(self) -> None:
        """One step; no gradients are left, so that every tool saves the same bytes."""
        self.model(self.data).square().sum().backward()
        time.sleep(self.sleeps)
        self.optimizer.step()
        self.optimizer.zero_grad()

    def window(self, steps: int, saver: Saver) -> tuple[float, float]:
        """Seconds of the save, and of the whole window."""
        begun = time.perf_counter()
        saver.save()
        stalled = time.perf_counter() - begun
        for _ in range(steps):
            self.step()
        return stalled, time.perf_counter() - begun

    def bytes(self) -> int:
        """Of the parameters and the two moments."""
        return 3 * sum(p.numel() * p.element_size() for p in self.model.parameters())


def memcpy_seconds(count: int) -> float:
    """One warm copy of so many bytes, the best of five."""
    source, target = torch.ones(count, dtype=torch.uint8), torch.ones(count, dtype=torch.uint8)
    best = float("inf")
    for _ in range(5):
        begun = time.perf_counter()
        ctypes.memmove(target.data_ptr(), source.data_ptr(), count)
        best = min(best, time.perf_counter() - begun)
    return best


def make_all(training: Training, folder: Path, only: list[str]) -> tuple[dict[str, Saver], dict[str, str]]:
    """Every tool that works here, and why the others do not."""
    made: dict[str, Saver] = {}
    missing: dict[str, str] = {}
    for name, make in savers().items():
        if only and name not in only:
            continue
        place = folder / name.replace(" ", "-")
        place.mkdir()
        try:
            made[name] = make(place, training.model, training.optimizer)
            for _ in range(2):  # whatever is slow the first time
                made[name].save()
                made[name].wait()
        except Exception as error:
            made.pop(name, None)
            missing[name] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    return made, missing


def quiet(folder: Path) -> None:
    """Nothing on its way to the disk, no files of the rounds before."""
    for file in folder.rglob("*"):
        if file.is_file() and file.parent.name != "runs" and ".live" not in file.name and "FORMAT" not in file.name:
            file.unlink()
    os.sync()
    time.sleep(0.2)


def measure(gigabytes: float, rounds: int, seconds: float, idle: float, only: list[str]) -> dict[str, object]:
    """The rows of one size."""
    training = Training(width=int((gigabytes * 1e9 / (12 * LAYERS)) ** 0.5))
    folder = Path(tempfile.mkdtemp(dir="."))
    try:
        for _ in range(3):
            training.step()
        begun = time.perf_counter()
        for _ in range(3):
            training.step()
        busy = (time.perf_counter() - begun) / 3
        training.sleeps = busy * idle / (1 - idle)
        step = busy + training.sleeps
        steps = max(2, round(seconds / step))
        made, missing = make_all(training, folder, only)
        times = take_turns(training, made, folder, rounds, steps)
    finally:
        shutil.rmtree(folder)
    rows = summarize(times)
    copy = memcpy_seconds(training.bytes())
    return {
        "bytes": training.bytes(), "step": step, "idle": idle, "steps": steps, "rounds": rounds, "memcpy": copy,
        "rows": rows, "missing": missing,
    }  # fmt: skip


def take_turns(
    training: Training, made: dict[str, Saver], folder: Path, rounds: int, steps: int
) -> dict[str, list[tuple[float, float]]]:
    """(stall, cost) of each tool in each round; a window without a checkpoint before and after each."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in [*made, PLAIN]}
    plain = training.window(steps, Nothing())[1]
    for _ in range(rounds):
        for name, saver in made.items():
            quiet(folder)
            stalled, lasted = training.window(steps, saver)
            saver.wait()
            quiet(folder)
            after = training.window(steps, Nothing())[1]
            times[name].append((stalled, lasted - (plain + after) / 2))
            times[PLAIN].append((0.0, (after - plain) / 2))  # as far as half a sum can be off
            plain = after
    return times


def summarize(times: dict[str, list[tuple[float, float]]]) -> dict[str, dict[str, float]]:
    """Medians; for windows without a checkpoint, the median of how far they are off."""
    rows = {}
    for name, pairs in times.items():
        costs = [abs(cost) if name == PLAIN else cost for _, cost in pairs]
        middle = statistics.median(costs)
        rows[name] = {
            "stall": statistics.median(stall for stall, _ in pairs),
            "cost": middle,
            "low": min(costs),
            "high": max(costs),
        }
    return rows


def markdown(result: dict[str, object]) -> str:
    """The table of one size."""
    rows: dict[str, dict[str, float]] = result["rows"]  # type: ignore[assignment]
    where = "beside an accelerator" if result["idle"] else "all on the processor"
    lines = [
        f"## {result['bytes'] / 1e9:.2f} GB, {where}\n",  # type: ignore[operator]
        f"{result['rounds']} rounds, {result['steps']} steps a window, "
        f"{1000 * result['step']:.0f} ms a step, "  # type: ignore[operator]
        f"of which the processor sleeps {100 * result['idle']:.0f} %; "  # type: ignore[operator]
        f"one warm copy of these bytes: {1000 * result['memcpy']:.0f} ms.\n",  # type: ignore[operator]
        "| tool | stall, ms | stall + slow-down, ms | lowest to highest, ms |",
        "|---|---|---|---|",
    ]
    for name, row in rows.items():
        label = "no checkpoint (noise floor)" if name == PLAIN else name
        spread = f"{1000 * row['low']:.0f} to {1000 * row['high']:.0f}"
        lines.append(f"| {label} | {1000 * row['stall']:.0f} | {1000 * row['cost']:.0f} | {spread} |")
    for name, why in result["missing"].items():  # type: ignore[attr-defined]
        lines.append(f"| {name} | - | did not work here: {why} | |")
    return "\n".join([*lines, "", verdict(result)])


def verdict(result: dict[str, object]) -> str:
    """How flor stands beside the best of the others."""
    rows: dict[str, dict[str, float]] = result["rows"]  # type: ignore[assignment]
    peers = {name: row["cost"] for name, row in rows.items() if name != PLAIN and not name.startswith("flor")}
    if not peers or "flor" not in rows:
        return ""
    best, floor = min(peers, key=lambda name: peers[name]), rows[PLAIN]["cost"]
    ours, theirs = max(0.0, rows["flor"]["cost"] - floor), max(0.0, peers[best] - floor)
    copies = rows["flor"]["stall"] / float(result["memcpy"])  # type: ignore[arg-type]
    return (
        f"Beyond the noise floor flor costs {1000 * ours:.0f} ms, the best peer {1000 * theirs:.0f} ms ({best}): "
        f"{ours / theirs if theirs else float('nan'):.2f} of it. Its stall is {copies:.1f} copies of the bytes."
    )


def main() -> None:
    """Measure each size, then print and keep the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, nargs="+", default=[0.3])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.5, help="how long a window is")
    parser.add_argument("--idle", type=float, nargs="+", default=[0.75], help="share of a step that is slept through")
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    args = parser.parse_args()
    sizes = [
        measure(gigabytes, args.rounds, args.seconds, idle, args.only)
        for idle in args.idle
        for gigabytes in args.gigabytes
    ]
    text = "\n\n".join(markdown(size) for size in sizes)
    print(text)
    if args.markdown:
        args.markdown.write_text(f"{text}\n\nMeasured on: {facts_line()}.\n")
    if args.json:
        args.json.write_text(json.dumps({"machine": facts(), "sizes": sizes}, indent=1))


if __name__ == "__main__":
    main()
