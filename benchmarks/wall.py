"""What the kernel's overlay costs a worker: its start, and a loader over many small files, each beside plain.

python benchmarks/wall.py [--starts 15] [--files 10000] [--rounds 7] [--quick]

Plain and walled processes take turns, so that both see the same machine; the medians are compared. A start is the time
of a process that enters the namespace and imports what a worker imports, from its creation to its end. The first pass
over the files in a process meets names that its overlay has not looked up yet; the passes after it do not.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from reporting import options, places, table

WAYS = ("plain", "walled")
ENTER = """
import os, sys, time
from pathlib import Path
import flor.replay.worker
from flor.launch.wall.choice import Wall, build
if sys.argv[1] == "walled":
    layer = build(Wall.OVERLAY, Path(sys.argv[2]), pass_through=[Path(sys.argv[2])], expected=[os.getcwd()])
    layer.install()
"""
READ = (
    ENTER
    + """
names = sorted(os.listdir("."))
for _ in range(2):
    begun = time.perf_counter()
    total = 0
    for name in names:
        with open(name, "rb") as file:
            total += len(file.read())
    print(time.perf_counter() - begun)
"""
)


def run(code: str, way: str, folder: Path, layers: Path) -> tuple[float, str]:
    """The seconds of one process, and what it printed; its layer is deleted outside of the measured time."""
    from flor.launch.wall.layer import delete

    layer = Path(tempfile.mkdtemp(dir=layers))
    begun = time.perf_counter()
    command = [sys.executable, "-c", code, way, str(layer)]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    seconds = time.perf_counter() - begun
    delete(layer)
    return seconds, done.stdout


def starts(count: int, folder: Path, layers: Path) -> dict[str, list[float]]:
    """The seconds of so many starts of each kind, taking turns."""
    found: dict[str, list[float]] = {way: [] for way in WAYS}
    for way in WAYS:
        run(ENTER, way, folder, layers)  # the first one fills the page cache
    for number in range(count):
        for way in WAYS[:: 1 if number % 2 else -1]:
            found[way].append(run(ENTER, way, folder, layers)[0])
    return found


def readings(rounds: int, folder: Path, layers: Path) -> list[dict[str, list[float]]]:
    """The seconds of first and of second passes over all files, so many of each kind, taking turns."""
    passes: list[dict[str, list[float]]] = [{way: [] for way in WAYS} for _ in range(2)]
    run(READ, "plain", folder, layers)
    for number in range(rounds):
        for way in WAYS[:: 1 if number % 2 else -1]:
            for found, seconds in zip(passes, run(READ, way, folder, layers)[1].split(), strict=True):
                found[way].append(float(seconds))
    return passes


def make_files(folder: Path, count: int) -> None:
    """Small files, as of a data set of pictures."""
    for number in range(count):
        (folder / f"{number:06d}.bin").write_bytes(os.urandom(512 + number % 4096))


def main() -> None:
    """Measure both, and keep the medians."""
    parser = options(__doc__)
    parser.add_argument("--starts", type=int, default=15)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    where = places(args)
    if where.quick:
        args.starts, args.files, args.rounds = 3, 500, 2
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as layers:
        make_files(Path(folder), args.files)
        measured = {"a start, s": starts(args.starts, Path(folder), Path(layers))}
        first, second = readings(args.rounds, Path(folder), Path(layers))
        measured |= {f"{args.files:,} files, first pass, s": first, f"{args.files:,} files, second pass, s": second}
    medians = {what: {way: statistics.median(found[way]) for way in WAYS} for what, found in measured.items()}
    rows = [
        (what, f"{of['plain']:.3f}", f"{of['walled']:.3f}", f"{(of['walled'] - of['plain']) * 1000:+.0f} ms",
         f"{of['walled'] / of['plain']:.3f}")
        for what, of in medians.items()
    ]  # fmt: skip
    text = table(("median", "plain", "in the namespace", "difference", "ratio"), rows)
    where.keep("wall", {"measured": measured, "medians": medians}, "What the kernel's overlay costs a worker", text)


if __name__ == "__main__":
    main()
