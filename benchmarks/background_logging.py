"""What logging everything costs training: TensorBoard direct, and with `flor.background`.

    python benchmarks/background_logging.py [--rounds 4] [--epochs 2] [--threads 1 2] [--through COMMAND] [--write]

The paper's "Mike": a SqueezeNet-like net logs histograms of all weights, gradients and activations 4 times an epoch.
Every round trains the same net from the same weights once in each way, in turn, in one process; a round's time ends
when everything is in the event file. Shown is the quickest round of each way: whatever else runs only adds time.
Each thread count is measured in a process of its own, started by --through if given (say, a command that waits until
the machine is quiet). With --write the table goes to docs/results/background_logging.md, the numbers to a .json there.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from torch import nn
from torch.utils.tensorboard import SummaryWriter

import flor

WAYS = ("none", "direct", "thread", "process")
BATCHES, LOGS, BATCH = 8, 4, 64
RESULTS = Path(__file__).parent.parent / "docs" / "results"


class Threaded(SummaryWriter):
    """A subclass might do anything, so that `flor.background` gives it a thread."""


class Fire(nn.Module):
    """Squeeze, then expand by 1x1 and 3x3."""

    def __init__(self, inside: int, squeeze: int, expand: int) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(inside, squeeze, 1)
        self.one = nn.Conv2d(squeeze, expand, 1)
        self.three = nn.Conv2d(squeeze, expand, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.squeeze(x))
        return torch.relu(torch.cat([self.one(x), self.three(x)], 1))


def make_net() -> nn.Sequential:
    """SqueezeNet 1.1 for 32 x 32 pictures and 100 classes."""
    torch.manual_seed(0)
    pool = nn.MaxPool2d(3, 2, ceil_mode=True)
    return nn.Sequential(
        nn.Conv2d(3, 64, 3, 2), nn.ReLU(), Fire(64, 16, 64), Fire(128, 16, 64), pool, Fire(128, 32, 128),
        Fire(256, 32, 128), pool, Fire(256, 48, 192), Fire(384, 48, 192), Fire(384, 64, 256), Fire(512, 64, 256),
        nn.Conv2d(512, 100, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
    )  # fmt: skip


def open_writer(way: str, folder: Path) -> Any:
    """A logger for one round."""
    if way == "none":
        return None
    return {
        "direct": lambda: SummaryWriter(str(folder)),
        "thread": lambda: flor.background(Threaded(str(folder))),
        "process": lambda: flor.background(SummaryWriter(str(folder))),
    }[way]()


def log_everything(writer: Any, net: nn.Module, activations: dict[str, torch.Tensor], step: int) -> int:
    """Histograms of all weights, gradients and activations; the time is given so that files can be compared."""
    named: dict[str, Any] = {f"activations/{name}": value for name, value in activations.items()}
    for name, parameter in net.named_parameters():
        named[f"weights/{name}"], named[f"gradients/{name}"] = parameter, parameter.grad
    for name, value in named.items():
        writer.add_histogram(name, value, step, walltime=float(step))
    return len(named)


def train(writer: Any, epochs: int) -> tuple[str, int]:
    """Train; the hash of the weights, and how many histograms were logged."""
    net = make_net()
    kept: dict[str, torch.Tensor] = {}
    for name, layer in net.named_modules():
        if isinstance(layer, nn.Conv2d):
            layer.register_forward_hook(lambda _, __, out, name=name: kept.__setitem__(name, out.detach()))
    optimizer = torch.optim.SGD(net.parameters(), 0.01, momentum=0.9)
    source = torch.Generator().manual_seed(1)
    pictures = torch.randn(BATCHES * BATCH, 3, 32, 32, generator=source)
    labels = torch.randint(100, (BATCHES * BATCH,), generator=source)
    logged = 0
    for step in range(epochs * BATCHES):
        at = step % BATCHES * BATCH
        loss = nn.functional.cross_entropy(net(pictures[at : at + BATCH]), labels[at : at + BATCH])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if writer is not None and (step + 1) % (BATCHES // LOGS) == 0:
            logged += log_everything(writer, net, kept, step)
    return hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in net.parameters())).hexdigest(), logged


def one_round(way: str, folder: Path, epochs: int) -> dict[str, Any]:
    """Train once, from the first batch to the last byte in the event file."""
    writer = open_writer(way, folder)
    begun, cpu = time.perf_counter(), time.process_time()
    weights, logged = train(writer, epochs)
    trained = time.perf_counter() - begun
    if writer is not None:
        writer.close()
    written = time.perf_counter() - begun
    cpu_seconds = time.process_time() - cpu
    return {
        "way": way,
        "trained": trained,
        "seconds": written,
        "cpu": cpu_seconds,
        "weights": weights,
        "logged": logged,
    }


def events(folder: Path) -> list[bytes]:
    """All events of a folder but the header, which has the time of day."""
    return [bytes(e) for path in sorted(folder.iterdir()) for e in RawEventFileLoader(str(path)).Load()][1:]


def measure(rounds: int, epochs: int) -> dict[str, Any]:
    """All ways, in turn; the first round warms up and is not counted."""
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as top:
        for turn in range(rounds + 1):
            folders = {way: Path(top) / f"{turn}-{way}" for way in WAYS}
            results = [one_round(way, folders[way], 1 if turn == 0 else epochs) for way in WAYS]
            direct = events(folders["direct"])
            for result in results[1:]:
                result["equal"] = bool(direct) and events(folders[result["way"]]) == direct
            assert len({result["weights"] for result in results}) == 1, "logging changed training"
            found += results if turn else []
    load = os.getloadavg()[1]  # of five minutes: what else the machine did meanwhile
    return {"threads": torch.get_num_threads(), "rounds": found, "load": load, "start": start_of_process()}


def start_of_process() -> float:
    """Seconds from the first use to the first event on disk, in a new python: the process has to import torch."""
    code = (
        "import time, torch, flor\nfrom torch.utils.tensorboard import SummaryWriter\nimport tempfile\n"
        "with tempfile.TemporaryDirectory() as top:\n    begun = time.perf_counter()\n"
        "    writer = flor.background(SummaryWriter(top))\n    writer.add_scalar('a', 1.0, 0)\n    writer.flush()\n"
        "    print(time.perf_counter() - begun)\n    writer.close()\n"
    )
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


def pieces() -> Iterator[tuple[str, float, float]]:
    """What the process does in a faster way: name, seconds of the usual way, seconds of ours."""
    from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c as usual

    from flor.runtime.background.crc import masked_crc32c
    from flor.runtime.background.histograms import Edges

    with tempfile.TemporaryDirectory() as top:
        writer = SummaryWriter(top)
        bins = writer.default_bins
        writer.close()
    edges = Edges(bins)
    for size in (64, 10_000, 1_000_000):
        numbers = np.random.default_rng(0).standard_normal(size).astype(np.float32) * np.float32(0.05)
        values = numbers.astype(float)
        assert (np.histogram(values, bins=bins)[0] == edges.counts(numbers)).all()
        name = f"counts of {size:,} numbers"
        yield name, best(lambda v=values: np.histogram(v, bins=bins)), best(lambda n=numbers: edges.counts(n))
    record = os.urandom(9000)
    assert usual(record) == masked_crc32c(record)
    yield "checksum of a record of 9,000 bytes", best(lambda: usual(record)), best(lambda: masked_crc32c(record))


def best(function: Callable[[], Any]) -> float:
    """The shortest of some runs."""
    times = []
    for _ in range(15):
        begun = time.perf_counter()
        function()
        times.append(time.perf_counter() - begun)
    return min(times)


def summarise(measured: dict[str, Any]) -> dict[str, Any]:
    """Overheads of each way against no logging: the quickest rounds, and the median of the rounds paired."""
    rounds = measured["rounds"]
    plain = [r["seconds"] for r in rounds if r["way"] == "none"]
    summary: dict[str, Any] = {"threads": measured["threads"], "seconds": min(plain), "ways": {}}
    for way in WAYS[1:]:
        mine = [r for r in rounds if r["way"] == way]
        summary["ways"][way] = {
            "overhead": min(r["seconds"] for r in mine) / min(plain) - 1,
            "while_training": min(r["trained"] for r in mine) / min(plain) - 1,
            "cpu": min(r["cpu"] for r in mine) / min(r["cpu"] for r in rounds if r["way"] == "none") - 1,
            "medians": statistics.median(r["seconds"] / p - 1 for r, p in zip(mine, plain, strict=True)),
            "equal": all(r["equal"] for r in mine),
            "histograms": mine[0]["logged"],
        }
    direct = summary["ways"]["direct"]["overhead"]
    for way in summary["ways"].values():
        way["gone"] = 1 - way["overhead"] / direct
        way["cpu_gone"] = 1 - way["cpu"] / summary["ways"]["direct"]["cpu"]
    return {**summary, "start": measured["start"], "load": measured.get("load")}


NAMES = {"direct": "direct", "thread": "`flor.background`, by a thread", "process": "`flor.background` (by a process)"}


def table(summaries: list[dict[str, Any]], faster: list[tuple[str, float, float]], facts: dict[str, Any]) -> str:
    """The Markdown page."""
    lines = [
        "# Background logging", "",
        f"A SqueezeNet-like net, batches of {BATCH}, histograms of all weights, gradients and activations {LOGS} times "
        f"an epoch of {BATCHES} batches. Overhead over the same training without logging, until everything is in the "
        "event file; the quickest of rounds that take turns in one process. The paper: 180 % down to 26 %, that is "
        "85.6 % gone; 73.5 % on average.", "",
        "| torch threads | no logging | way | overhead | gone | processor time | gone | event files equal |",
        "|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for summary in summaries:
        for way, found in summary["ways"].items():
            gone, cpu_gone = (f"{found[k]:.1%}" if way != "direct" else "" for k in ("gone", "cpu_gone"))
            cells = [str(summary["threads"]), f"{summary['seconds']:.2f} s", NAMES[way], f"{found['overhead']:.1%}",
                     gone, f"{found['cpu']:+.1%}", cpu_gone, "yes" if found["equal"] else "**no**"]  # fmt: skip
            lines.append("| " + " | ".join(cells) + " |")
    loads = ", ".join("unknown" if s["load"] is None else f"{s['load']:.1f}" for s in summaries)
    start = ", ".join(f"{s['start']:.1f} s with {s['threads']} torch thread(s)" for s in summaries)
    lines += [
        "", f"A round logs {summaries[0]['ways']['direct']['histograms']:,} histograms. The process needs {start} from "
        "its start to its first event, once a run and beside training; that is not in the table. Processor time is "
        "that of the training process alone: other work on the machine changes it less. The machine's load average "
        f"over five minutes was {loads} at the end; training and the process that logs account for two.", "",
        "What the process does in a faster way, with equal results:", "",
        "| | usual | here |", "|---|---|---|",
        *(f"| {name} | {usual * 1e3:.3f} ms | {ours * 1e3:.3f} ms |" for name, usual, ours in faster), "",
        f"Machine: {facts['cpu']}, {facts['cores']} cores, {facts['system']}; Python {facts['python']}, "
        f"torch {facts['torch']}, numpy {facts['numpy']}. Command: `{facts['command']}`.", "",
    ]  # fmt: skip
    return "\n".join(lines)


def machine(arguments: str) -> dict[str, Any]:
    """Facts of the machine, and how this was run."""
    cpu = Path("/proc/cpuinfo")
    names = [line.split(":", 1)[1].strip() for line in cpu.read_text().splitlines() if line.startswith("model name")]
    return {
        "cpu": names[0] if names else platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "system": platform.system(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "command": f"python benchmarks/background_logging.py {arguments}",
    }


def main() -> None:
    """Measure each thread count in a process of its own, and show the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--through", nargs="*", default=[])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where --write puts them")
    parser.add_argument("--again", action="store_true", help="write the table again from the .json, measure nothing")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.rounds, options.epochs)))
        return
    results: Path = options.results
    numbers = results / "background_logging.json"
    if options.again:
        kept = json.loads(numbers.read_text())
        summaries = [summarise(measured) for measured in kept["measured"]]
        (results / "background_logging.md").write_text(table(summaries, kept["pieces"], kept["machine"]))
        return
    found = []
    for threads in options.threads:
        command = [
            *options.through,
            sys.executable,
            __file__,
            "--measure",
            f"--rounds={options.rounds}",
            f"--epochs={options.epochs}",
        ]
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, text=True)
        found.append(json.loads(run.stdout))
    summaries, faster, facts = (
        [summarise(f) for f in found],
        list(pieces()),
        machine(f"--rounds {options.rounds} --epochs {options.epochs} --threads {' '.join(map(str, options.threads))}"),
    )
    page = table(summaries, faster, facts)
    print(page)
    if options.write:
        results.mkdir(exist_ok=True)
        (results / "background_logging.md").write_text(page)
        kept = {"machine": facts, "summaries": summaries, "pieces": faster, "measured": found}
        numbers.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
