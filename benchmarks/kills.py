"""Runs that are killed with kill -9 at random moments, then replayed with a probe and resumed: is all as it would be?

    python benchmarks/kills.py [--kills 200] [--seed 0]

The judge is a run that nobody kills: what the probe prints must be what it would have printed up to the kill, with the
verdict `exact`; a resumed run must go on with the same output and end with the same weights.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "properties"))

from killing import MOMENTS, SHAPES, Kill, judge, whole_run
from zygote import Zygote


def main() -> int:
    """Print a table of the kills, and on stderr what was wrong after which."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    done: Counter[tuple[str, str]] = Counter()
    counts: Counter[str] = Counter()
    wrong = 0
    with Zygote() as zygote, tempfile.TemporaryDirectory(prefix="kills-") as name:
        room = Path(name)
        wholes = {shape: whole_run(zygote, shape, room) for shape in SHAPES}
        for seed in range(args.seed, args.seed + args.kills):
            kill = Kill.drawn(seed)
            with tempfile.TemporaryDirectory(dir=room) as folder:
                judged = judge(zygote, kill, wholes[kill.shape], Path(folder) / "kill")
            for fault in judged.faults:
                print(f"{seed}: {kill}: {fault}", file=sys.stderr, flush=True)
            done[kill.shape, kill.moment] += 1
            wrong += bool(judged.faults)
            counts.update(
                killed=judged.killed,
                replayed=judged.replayed,
                restored=judged.restored > 0,
                resumed=judged.resumed,
            )
    print("| program | " + " | ".join(MOMENTS) + " |\n|---|" + "---|" * len(MOMENTS))
    for shape in SHAPES:
        print(f"| {shape} | " + " | ".join(str(done[shape, moment]) for moment in MOMENTS) + " |")
    print(
        f"\n{args.kills} runs: {counts['killed']} killed, {counts['replayed']} replayed exactly "
        f"({counts['restored']} from checkpoints), {counts['resumed']} resumed; {wrong} with something wrong"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
