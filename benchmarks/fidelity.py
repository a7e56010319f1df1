"""Generated programs, recorded and continued from their checkpoints, then replayed with probes: how many are exact.

python benchmarks/fidelity.py --programs 300 --jobs 2          # the tables of docs/fidelity.md
python benchmarks/fidelity.py --family wild --seed 17 --keep   # one program, to be looked at
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "properties"))

from judging import EXACT, WRONG, Continued, Replayed, record, replay
from programs import Program, generate
from zygote import Zygote

FAMILIES = ("idiomatic", "wild")


@dataclass
class Judged:
    """One program and all that was seen of it."""

    program: Program
    continued: list[Continued] = field(default_factory=list)
    replayed: Replayed | None = None
    refusals: dict[str, str] = field(default_factory=dict)
    broken: str = ""

    @property
    def marked(self) -> bool:
        """True if a loop of it could not be kept, so that replay executes it."""
        return bool(self.refusals)

    @property
    def clean(self) -> bool:
        """True if nothing is marked, nothing wrong, and the replay exact without a warning."""
        wrong = any(one.verdict == WRONG for one in self.continued)
        return not (self.marked or wrong) and self.replayed is not None and self.replayed.verdict == EXACT

    @property
    def troubles(self) -> list[str]:
        """Everything that is not exact, in words."""
        found = [str(one) for one in self.continued if one.verdict != EXACT]
        if self.replayed is not None and self.replayed.verdict != EXACT:
            found.append(f"replay {self.replayed.verdict}: {self.replayed.said[-1500:]} {self.replayed.why}")
        if self.replayed is not None and self.replayed.again:
            found.append(f"replayed from the start: {self.replayed.again[0]}")
        found += [f"marked {place}: {reason}" for place, reason in list(self.refusals.items())[:1]]
        return found + ([f"BROKEN {self.broken}"] if self.broken else [])


def judge(zygote: Zygote, program: Program, room: Path, points: int) -> Judged:
    """Record a program, go on from so many of its checkpoints, and replay it with some of its probes."""
    judged = Judged(program)
    recorded = record(zygote, room / "work", program.text())
    if recorded.ran.code:
        judged.broken = recorded.ran.stderr[-1000:]
        return judged
    judged.refusals = recorded.refusals
    judged.continued = [recorded.continue_from(key) for key in recorded.keys(points)]
    judged.replayed = replay(recorded, program.text(*program.some_probes()), workers=1 + program.seed % 2)
    return judged


def table(all_judged: list[Judged]) -> str:
    """The tables of docs/fidelity.md."""
    lines = [
        "| family | programs | not marked re-execute | checkpoints continued | exact | refused or raised | WRONG |"
    ]
    lines.append("|---|---|---|---|---|---|---|")
    for family in FAMILIES:
        some = [judged for judged in all_judged if judged.program.family == family and not judged.broken]
        points = [one.verdict for judged in some for one in judged.continued]
        told = len(points) - points.count(EXACT) - points.count(WRONG)
        kept = sum(not judged.marked for judged in some)
        counts = (len(some), kept, len(points), points.count(EXACT), told, points.count(WRONG))
        lines.append(f"| {family} | " + " | ".join(map(str, counts)) + " |")
    lines += ["", "| family | replays with probes | exact | of these, executed from the start | told | WRONG | clean |"]
    lines.append("|---|---|---|---|---|---|---|")
    for family in FAMILIES:
        some = [judged for judged in all_judged if judged.program.family == family and judged.replayed]
        verdicts = [judged.replayed.verdict for judged in some if judged.replayed]
        again = sum(bool(judged.replayed and judged.replayed.again) for judged in some)
        clean = sum(judged.clean for judged in some)
        lines.append(
            f"| {family} | {len(some)} | {verdicts.count(EXACT)} | {again} | {verdicts.count('told')} | "
            f"{verdicts.count(WRONG)} | {100 * clean / max(1, len(some)):.1f} % |"
        )
    return "\n".join(lines)


def main() -> int:
    """Run it and print the tables; anything that is not exact goes to stderr with its seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=300)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="this seed only")
    parser.add_argument("--family", choices=FAMILIES)
    parser.add_argument("--points", type=int, default=5, help="checkpoints to go on from, a program")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", action="store_true")
    args = parser.parse_args()
    families = [args.family] if args.family else list(FAMILIES)
    seeds = [args.seed] if args.seed is not None else range(args.first, args.first + args.programs // len(families))
    programs = [generate(seed, family) for seed in seeds for family in families]
    judged = run(programs, args.points, args.jobs, args.keep)
    print(table(judged))
    return 1 if any(WRONG in trouble for one in judged for trouble in one.troubles) else 0


def run(programs: list[Program], points: int, jobs: int, keep: bool) -> list[Judged]:
    """All programs, so many at a time, each thread with a zygote of its own."""
    scratch = Path(tempfile.mkdtemp(prefix="fidelity-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    local = threading.local()
    zygotes: list[Zygote] = []

    def one(program: Program) -> Judged:
        if not hasattr(local, "zygote"):
            local.zygote = Zygote()
            zygotes.append(local.zygote)
        room = scratch / f"{program.family}{program.seed}"
        judged = judge(local.zygote, program, room, points)
        for trouble in judged.troubles:
            print(
                f"{program.family} {program.seed} {program.shape} {program.ideas}: {trouble}",
                file=sys.stderr,
                flush=True,
            )
        if not keep:
            shutil.rmtree(room)
        return judged

    with ThreadPoolExecutor(jobs) as pool:
        found = list(pool.map(one, programs))
    for zygote in zygotes:
        zygote.__exit__(None, None, None)
    if not keep:
        shutil.rmtree(scratch)
    else:
        print(f"kept {scratch}", file=sys.stderr)
    return found


if __name__ == "__main__":
    sys.exit(main())
