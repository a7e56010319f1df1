"""Figure 1 of the paper: log everything from the start, or log little and ask later?

    python benchmarks/fig01_conservative_optimistic.py [--quick] [--epochs 12] [--rounds 1]

A SqueezeNet; "everything" is histograms of all weights, gradients and of the last activations, 4 times an epoch. Mike
logs everything from the start, directly or by `flor.background`. Chuck and Judy log the loss; later they want all of it
for some of the epochs, around the middle. Chuck has no checkpoints: he trains again, from the start to the end of these
epochs. Judy has recorded her run with flor and replays these epochs, with one worker and with two. What counts is the
sum, of whole processes. Judy's values are compared with Mike's.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from drawing import BLACK, BLUE, GREEN, MARKERS, ORANGE, SKY, drawing, level
from reporting import Numbers, options, places, table
from scenes import Ran, Scene, expect_equal
from subjects import FOLDER
from summaries import middle

TRAIN = """
import sys
import torch
from squeezenet import squeezenet
from torch.nn.functional import cross_entropy
from torch.utils.tensorboard import SummaryWriter

torch.manual_seed(0)
images = torch.randn(256, 3, 32, 32)
labels = (images.mean((1, 2, 3)) > 0).long()
model = squeezenet(100)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
writer = SummaryWriter("events")
for epoch in range(int(sys.argv[1])):
    total = 0.0
    for step, batch in enumerate(torch.randperm(len(images)).split(32)):
        scores = model(images[batch])
        loss = cross_entropy(scores, labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        # everything
    writer.add_scalar("loss", total, epoch)
    print(f"epoch {epoch} loss {total:.6f}")
writer.close()
"""
EVERYTHING = """if step % 2 == 1:
            for name, value in model.named_parameters():
                writer.add_histogram("weights/" + name, value, 8 * epoch + step)
                writer.add_histogram("gradients/" + name, value.grad, 8 * epoch + step)
            writer.add_histogram("activations", scores, 8 * epoch + step)
            print("PROBE", epoch, step, sum(float(p.norm()) for p in model.parameters()), scores.sum().item())"""
PLAIN = "no logging"
DIRECT, BACKGROUND = "everything, directly", "everything, flor.background"
CHUCK, JUDY, PARALLEL = "log little, train again", "flor, 1 worker", "flor, 2 workers"
SHARES = (25, 50, 75, 100)


def around_the_middle(epochs: int, share: int) -> tuple[int, int]:
    """The epochs that are asked for: from, and up to."""
    wanted = max(1, round(epochs * share / 100))
    begin = (epochs - wanted) // 2
    return begin, begin + wanted


def text(*, everything: bool = False, background: bool = False, between: tuple[int, int] | None = None) -> str:
    """The script in one of its forms."""
    found = TRAIN.replace("# everything", EVERYTHING) if everything else TRAIN
    if between:
        found = found.replace("if step % 2 == 1:", f"if step % 2 == 1 and {between[0]} <= epoch < {between[1]}:")
    if background:
        found = found.replace('SummaryWriter("events")', 'flor.background(SummaryWriter("events"))')
        found = found.replace("import torch\n", "import torch\nimport flor\n", 1)
    return found


class Work:
    """One folder in which the three of them work, one after the other."""

    def __init__(self, home: Path, epochs: int) -> None:
        self.scene = Scene(home / "work")
        self.epochs = epochs
        self.scene.write(text())
        shutil.copy(FOLDER / "squeezenet.py", self.scene.folder)

    def train(self, script: str, epochs: int | None = None) -> Ran:
        """A run without flor, in a clean folder."""
        shutil.rmtree(self.scene.folder / "events", ignore_errors=True)
        self.scene.write(script)
        return self.scene.plain(str(epochs or self.epochs))

    def record(self) -> Ran:
        """Judy's run."""
        shutil.rmtree(self.scene.folder / "events", ignore_errors=True)
        self.scene.write(text())
        return self.scene.record(str(self.epochs))

    def replay(self, between: tuple[int, int], workers: int, mike: Ran) -> Ran:
        """Judy's question, whose answer must be what Mike has logged."""
        self.scene.write(text(everything=True))
        done = self.scene.replay("--epochs", f"{between[0]}:{between[1]}", "-j", str(workers))
        wanted = [line for line in mike.probed() if between[0] <= int(line.split()[1]) < between[1]]
        expect_equal(f"epochs {between[0]} to {between[1]}, {workers} workers", wanted, done.probed())
        return done


def one_round(home: Path, epochs: int, shares: list[int]) -> Numbers:
    """Seconds of everything that they do, once."""
    work = Work(home, epochs)
    mike = work.train(text(everything=True))
    background = work.train(text(everything=True, background=True))
    plain = work.train(text())
    asked = {str(share): around_the_middle(epochs, share) for share in shares}
    again = {s: work.train(text(everything=True, between=some), some[1]).seconds for s, some in asked.items()}
    recorded = work.record()
    found: Numbers = {PLAIN: plain.seconds, DIRECT: mike.seconds, BACKGROUND: background.seconds}
    found |= {"record": recorded.seconds, CHUCK: {share: plain.seconds + again[share] for share in asked}}
    for way, workers in ((JUDY, 1), (PARALLEL, 2)):
        times = {share: work.replay(some, workers, mike).seconds for share, some in asked.items()}
        found[way] = {share: recorded.seconds + seconds for share, seconds in times.items()}
    return found


def merge(rounds: list[Numbers]) -> Numbers:
    """Medians of each number over the rounds."""
    return {
        way: {share: middle([r[way][share] for r in rounds]) for share in value}
        if isinstance(value, dict)
        else middle([r[way] for r in rounds])
        for way, value in rounds[0].items()
    }


def summarize(merged: Numbers) -> Numbers:
    """Overheads of logging everything, and what asking later costs."""
    plain, shares = merged[PLAIN], list(merged[JUDY])
    least, most = shares[0], shares[-1]
    return {
        "direct": 100 * (merged[DIRECT] / plain - 1),
        "background": 100 * (merged[BACKGROUND] / plain - 1),
        "record": 100 * (merged["record"] / plain - 1),
        "least": least,
        "most": most,
        "judy_saves": 100 * (1 - merged[JUDY][least] / merged[CHUCK][least]),
        "parallel_saves": 100 * (1 - merged[PARALLEL][least] / merged[CHUCK][least]),
        "parallel_saves_most": 100 * (1 - merged[PARALLEL][most] / merged[CHUCK][most]),
    }


def page(merged: Numbers) -> str:
    """Seconds of work in total, by how much is asked for."""
    shares = list(merged[JUDY])
    rows = [[way, *([f"{merged[way]:.1f}"] * len(shares))] for way in (PLAIN, DIRECT, BACKGROUND)]
    rows += [[way, *(f"{merged[way][share]:.1f}" for share in shares)] for way in (CHUCK, JUDY, PARALLEL)]
    return table(["seconds in total, for this part of the epochs", *(f"{share} %" for share in shares)], rows)


def draw(merged: Numbers, path: Path) -> None:
    """Conservative on the left, optimistic on the right."""
    with drawing(path, columns=2, size=(7.6, 3.2)) as (left, right):
        values = [merged[DIRECT], merged[BACKGROUND]]
        left.bar_label(left.bar(["directly", "flor.background"], values, 0.6, color=(BLACK, SKY)), fmt="%.1f")
        left.set_title("conservative: log everything", fontsize=9)
        left.set_ylabel("seconds in total")
        for way, colour, marker in zip((CHUCK, JUDY, PARALLEL), (ORANGE, GREEN, BLUE), MARKERS, strict=False):
            shares = list(map(int, merged[way]))
            right.plot(shares, list(merged[way].values()), marker=marker, color=colour, label=way)
        right.set_title("optimistic: train, and ask later", fontsize=9)
        right.set_xlabel("% of the epochs that are asked for")
        right.set_xticks(shares)
        right.legend(fontsize=8, loc="lower right")
        top = 1.1 * max([*values, *(value for way in (CHUCK, JUDY, PARALLEL) for value in merged[way].values())])
        for axes, text in ((left, ""), (right, PLAIN)):
            axes.set_ylim(0, top)
            level(axes, merged[PLAIN], text)


def main() -> None:
    """Measure and draw."""
    parser = options(__doc__)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--rounds", type=int, default=1)
    args = parser.parse_args()
    where = places(args)
    epochs, shares = args.epochs or (2 if args.quick else 12), [50] if args.quick else list(SHARES)
    rounds = []
    for _ in range(args.rounds):
        with tempfile.TemporaryDirectory() as home:
            rounds.append(one_round(Path(home), epochs, shares))
    merged = merge(rounds)
    draw(merged, where.picture("fig01_conservative_optimistic"))
    numbers = {"epochs": epochs, "rounds": rounds, "summary": {**summarize(merged), "table": page(merged)}}
    where.keep("fig01_conservative_optimistic", numbers, "Figure 1: conservative and optimistic logging", page(merged))


if __name__ == "__main__":
    main()
