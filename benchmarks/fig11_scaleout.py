"""Figure 11 of the paper: replay on 1 to 16 workers, by checkpoint resume and by pseudoresume, beside the ideal.

    python benchmarks/fig11_scaleout.py [--quick] [--epochs 200] [--seconds 0.75]

200 epochs whose batches sleep, as those of an accelerator do for the processor. The same training three times: with the
checkpoints declared complete (`flor.checkpoint_resume`), so that workers jump; with skip blocks only, so that they
pseudoresume, restoring block after block until their part begins; and with no line of flor, under `flor record`. The
probe is in the inner loop. The oracle is the same script without sleeping. Ideal is the run divided by 200 / (the most
epochs that a worker has), so start-up counts against flor.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from drawing import BLUE, GREEN, GREY, MARKERS, ORANGE, drawing
from reporting import Numbers, options, places, table
from scenes import Ran, Scene, expect_equal
from summaries import parts_of

TRAIN = """
import sys, time
import numpy
import flor

random = numpy.random.default_rng(0)
weights = random.normal(size=(64, 64))
flor.checkpoint_resume(None, (weights, random))
for epoch in flor.loop("epoch", range(int(sys.argv[1]))):
    if flor.skipblock.step_into("train"):
        for batch in range(5):
            time.sleep(float(sys.argv[2]) / 5)
            weights += 0.01 * random.normal(size=weights.shape)
            loss = float(weights.std())
            # probe
    flor.skipblock.end(weights, random)
    print(epoch, float(weights.sum()))
"""
# What the iteration itself has computed. A probe that reads `weights`, which nobody declares complete, has one worker.
PROBE = "print('PROBE', epoch, batch, loss)"
RESUME, PSEUDO, HANDS_FREE = "checkpoint resume", "pseudoresume", "hands-free"
WORKERS = (1, 2, 4, 8, 16)


def pseudo(text: str) -> str:
    """The script that declares nothing complete."""
    return "\n".join(line for line in text.splitlines() if "checkpoint_resume" not in line) + "\n"


def hands_free(text: str) -> str:
    """The script without a line of flor."""
    for old, new in (
        ('flor.loop("epoch", range(int(sys.argv[1])))', "range(int(sys.argv[1]))"),
        ('if flor.skipblock.step_into("train"):', "if True:"),
    ):
        text = text.replace(old, new)
    return "\n".join(line for line in text.splitlines() if "flor" not in line) + "\n"


SCRIPTS: dict[str, Callable[[str], str]] = {RESUME: str, PSEUDO: pseudo, HANDS_FREE: hands_free}


def record(way: str, home: Path, epochs: int, seconds: float) -> tuple[Scene, Ran]:
    """The recorded run."""
    scene = Scene(home / way.replace(" ", "-"), {"FLOR_STORE": ".flor"})
    scene.write(SCRIPTS[way](TRAIN))
    arguments = (str(epochs), str(seconds))
    return scene, scene.record(*arguments) if way == HANDS_FREE else scene.plain(*arguments)


def measure(way: str, home: Path, scene: Scene, recorded: Ran, epochs: int, workers: list[int]) -> Numbers:
    """Replay with each number of workers."""
    text = SCRIPTS[way](TRAIN)
    wanted = oracle(home, text, epochs)
    scene.write(text.replace("# probe", PROBE))
    replays = {}
    for count in workers:
        replayed = scene.replay("-j", str(count))
        expect_equal(f"{way}, {count} workers", wanted.probed(), replayed.probed())
        replays[str(count)] = replayed.seconds
    return {"way": way, "record": recorded.seconds, "replays": replays}


def oracle(home: Path, text: str, epochs: int) -> Ran:
    """What a full run with the probe prints: sleeping changes nothing of it."""
    scene = Scene(home / "oracle", {"FLOR_RECORD": "off"})
    scene.write(text.replace("# probe", PROBE))
    return scene.plain(str(epochs), "0")


def summarize(rows: list[Numbers], epochs: int) -> Numbers:
    """Speed-ups over the recorded run, with the most workers."""
    most = max(int(count) for row in rows for count in row["replays"])
    speedups = {row["way"]: row["record"] / row["replays"][str(most)] for row in rows}
    ceiling = epochs / parts_of(epochs, most)
    by_way = {row["way"]: row["replays"][str(most)] for row in rows}
    return {
        "workers": most,
        "epochs": epochs,
        "ceiling": ceiling,
        "speedups": speedups,
        "shares": {way: 100 * speedup / ceiling for way, speedup in speedups.items()},
        "pseudo_costs": 100 * (by_way[PSEUDO] / by_way[RESUME] - 1),
    }


def page(rows: list[Numbers], epochs: int) -> str:
    """Seconds and speed-ups."""
    counts = sorted({int(count) for row in rows for count in row["replays"]})
    lines = []
    for row in rows:
        cells = [row["replays"].get(str(count)) for count in counts]
        shown = [f"{cell:.1f} ({row['record'] / cell:.1f} x)" if cell else "-" for cell in cells]
        lines.append([row["way"], f"{row['record']:.1f}", *shown])
    ideal = [f"({epochs / parts_of(epochs, count):.2f} x)" for count in counts]
    return table(["", "run, s", *(f"{count} workers, s" for count in counts)], [*lines, ["ideal", "", *ideal]])


def draw(rows: list[Numbers], epochs: int, path: Path) -> None:
    """Seconds over workers, both in powers of two."""
    with drawing(path) as axes:
        for row, colour, marker in zip(rows, (BLUE, ORANGE, GREEN), MARKERS, strict=False):
            counts = sorted(map(int, row["replays"]))
            times = [row["replays"][str(count)] for count in counts]
            axes.plot(counts, times, marker=marker, color=colour, label=row["way"], markersize=5)
            if row["way"] == RESUME:
                for count, seconds in zip(counts, times, strict=True):
                    text = f"{row['record'] / seconds:.1f} x"
                    axes.annotate(text, (count, seconds), (0, 8), textcoords="offset points", fontsize=7)
        ideal = [rows[0]["record"] * parts_of(epochs, count) / epochs for count in WORKERS]
        axes.plot(WORKERS, ideal, color=GREY, linestyle="--", label="ideal")
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.set_xticks(WORKERS, list(map(str, WORKERS)))
        axes.yaxis.set_major_formatter("{x:.0f}")
        axes.set_xlabel("workers")
        axes.set_ylabel("replay, seconds")
        axes.legend()


def main() -> None:
    """Measure the three ways; one worker is measured for one of them, for the others it is the run itself."""
    parser = options(__doc__)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--seconds", type=float)
    args = parser.parse_args()
    where = places(args)
    epochs, seconds = args.epochs or (24 if args.quick else 200), args.seconds or (0.1 if args.quick else 0.75)
    many = [2] if args.quick else [count for count in WORKERS if count > 1]
    with tempfile.TemporaryDirectory() as home:
        ways = {way: many if way != RESUME or args.quick else list(WORKERS) for way in SCRIPTS}
        with ThreadPoolExecutor() as side_by_side:  # they sleep nearly all of the time
            records = list(side_by_side.map(lambda way: record(way, Path(home), epochs, seconds), ways))
        rows = [
            measure(way, Path(home), *recorded, epochs, counts)
            for (way, counts), recorded in zip(ways.items(), records, strict=True)
        ]
    draw(rows, epochs, where.picture("fig11_scaleout"))
    numbers = {"seconds": seconds, "rows": rows, "summary": summarize(rows, epochs)}
    where.keep("fig11_scaleout", numbers, "Figure 11: scale-out", page(rows, epochs))


if __name__ == "__main__":
    main()
