"""Acceptance programs, resumed at every checkpoint that they have and run to the end: is the rest what it was?

    python benchmarks/resume_everywhere.py [NAME...] --programs ../shared/acceptance/programs

Each program is recorded with `--overhead 10`. Then, for each of its resume points and memoized loop ends, the
program is begun anew, that one checkpoint is restored and no other, and it runs to its end: what it logs from there
on must be what the full run logged, and at every later checkpoint, the last of all at the end of its loops, its
state must be equal object by object.
"""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "properties"))

from judging import EXACT, Continued, Recorded
from zygote import Zygote

from flor.query.runs import run
from flor.replay.history import History

REPOSITORY = Path(__file__).resolve().parent.parent
PROBED = re.compile(r"#@(outer|inner)$")
NOT_PROBED = re.compile(r"\s*#@!(outer|inner)$")


def main() -> int:
    """Print a row for each program."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("names", nargs="*", help="programs, by a prefix; all by default")
    parser.add_argument("--programs", type=Path, default=REPOSITORY.parent / "shared" / "acceptance" / "programs")
    parser.add_argument("--most", type=int, help="of each program, so many checkpoints only")
    args = parser.parse_args()
    folders = [path for path in sorted(args.programs.iterdir()) if path.is_dir()]
    chosen = [path for path in folders if not args.names or path.name.startswith(tuple(args.names))]
    print(
        "| program | resume points | ends | exact | told | WRONG | marked re-execute |\n|---|---|---|---|---|---|---|"
    )
    good = True
    with Zygote("sklearn.datasets") as zygote:
        for folder in chosen:
            good &= show(zygote, folder, args.most)
    return 0 if good else 1


def show(zygote: Zygote, folder: Path, most: int | None) -> bool:
    """Judge one program, print its row, and say on stderr what is not exact."""
    room = Path(tempfile.mkdtemp(prefix="resume-"))
    try:
        recorded = record(zygote, folder, room / "work")
        continued = [recorded.continue_from(key) for key in recorded.keys(most)]
    finally:
        shutil.rmtree(room)
    for one in continued:
        if one.verdict != EXACT:
            print(f"{folder.name}: {one}", file=sys.stderr)
    print(row(folder.name, continued, recorded), flush=True)
    return all(one.verdict == EXACT for one in continued)


def record(zygote: Zygote, program: Path, work: Path) -> Recorded:
    """Put the program without its probes into a folder and record it there."""
    command: list[str] = []
    volatile: list[str] = []
    for path in sorted(program.rglob("*")):
        target = work / path.relative_to(program)
        if path.is_dir() or "__pycache__" in path.parts:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix != ".py":
            shutil.copy2(path, target)
            continue
        text = path.read_text()
        lines = [NOT_PROBED.sub("", line) for line in text.splitlines() if not PROBED.search(line)]
        target.write_text("\n".join(lines) + "\n")
        found = re.search(r"^# run: +(.*\S)", text, re.MULTILINE)
        command = shlex.split(found[1]) if found else command
        volatile += re.findall(r"^# volatile: +(.*\S)", text, re.MULTILINE)
    ran = zygote.step("record", work, command=command, often=False)
    found_run = run(store=work / ".flor")
    return Recorded(zygote, work, ran, found_run, History.of(found_run), volatile=tuple(volatile))


def row(name: str, continued: list[Continued], recorded: Recorded) -> str:
    """One line of the table."""
    verdicts = Counter(one.verdict for one in continued)
    points = sum(one.key.iteration is not None for one in continued)
    told = verdicts["refused"] + verdicts["raised"]
    counts = (points, len(continued) - points, verdicts[EXACT], told, verdicts["WRONG"], len(recorded.refusals))
    return f"| {name} | " + " | ".join(map(str, counts)) + " |"


if __name__ == "__main__":
    sys.exit(main())
