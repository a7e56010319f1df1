"""The whole evaluation by one command: every part in turn, its numbers, its table, its picture.

    make benchmarks                                 # under 60 minutes on two cores; into docs/
    make benchmarks QUICK=1                         # under 5 minutes; into a scratch folder
    python benchmarks/run.py [--quick] [--write] [--only NAME]... [--everything] [--flordb PYTHON] [--peers PYTHON]
        [--mirror REPOSITORY=DIR]... [--programs DIR]

A part that fails is told at the end, and the others still run. A part that needs what is not given (an interpreter with
flordb, mirrors of public scripts, acceptance programs) is left out and told. docs/evaluation.md is written anew.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import evaluation
from adopting import adopt
from parts import Part, chosen
from pictures import PICTURES
from reporting import RESULTS, ROOT, Places, options, places, table, without_folders

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Outcome:
    """How one part went."""

    part: str
    seconds: float
    trouble: str = ""
    left_out: str = ""

    def row(self) -> list[str]:
        """A line of the table at the end."""
        how = f"left out: {self.left_out}" if self.left_out else "FAILED" if self.trouble else "done"
        return [self.part, f"{self.seconds:.0f} s", how]


def words(part: Part, where: Places, work: Path, args: argparse.Namespace) -> list[str]:
    """The arguments of a part."""
    given = list((part.quick or ()) if where.quick else part.full)
    for option in part.passes:
        values = getattr(args, option)
        given += [
            word
            for value in (values if isinstance(values, list) else [values])
            if value
            for word in pair(option, value)
        ]
    if part.own:
        folders = ["--results", str(where.results), "--figures", str(where.figures)]
        remark = ["--remark", where.remark] if where.remark else []
        return [*given, *(["--quick"] if where.quick else []), *remark, *folders]
    return [word.format(results=work, name=part.name) for word in given]


def pair(option: str, value: object) -> list[str]:
    """An option and its value."""
    return [f"--{option}", str(value)]


def run(part: Part, where: Places, args: argparse.Namespace) -> Outcome:
    """One part, in a folder of its own; what an older script leaves there is taken over if it went well."""
    if part.needs and not getattr(args, part.needs):
        return Outcome(part.name, 0, left_out=f"needs --{part.needs}")
    with tempfile.TemporaryDirectory(prefix="flor-benchmark-") as folder:
        work = Path(folder)
        arguments = words(part, where, work, args)
        command = [sys.executable, str(HERE / f"{part.name}.py"), *arguments]
        begun = time.perf_counter()
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        seconds = time.perf_counter() - begun
        if done.returncode:
            return Outcome(part.name, seconds, trouble=f"{done.stdout[-1500:]}\n{done.stderr[-3000:]}".strip())
        if not part.own:
            shown = shlex.join(["python", f"benchmarks/{part.name}.py", *without_folders(arguments)])
            adopt(part, work, where, shown, done.stdout)
        if part.name in PICTURES:
            PICTURES[part.name](where.find(part.name), where.picture(part.name))
    return Outcome(part.name, seconds)


def run_all(parts: list[Part], where: Places, args: argparse.Namespace) -> list[Outcome]:
    """Each part in turn, with a line when it begins."""
    outcomes = []
    for number, part in enumerate(parts, 1):
        print(f"[{number}/{len(parts)}] {part.name}: {part.title}", flush=True)
        outcomes.append(run(part, where, args))
        if outcomes[-1].trouble:
            print(f"    FAILED after {outcomes[-1].seconds:.0f} s", flush=True)
    return outcomes


def report(outcomes: list[Outcome], where: Places) -> int:
    """Say how it went; 1 if something failed."""
    failed = [one for one in outcomes if one.trouble]
    print("\n" + table(["part", "took", ""], [one.row() for one in outcomes]))
    print(f"\n{sum(one.seconds for one in outcomes) / 60:.1f} minutes. Results: {where.results}")
    for one in failed:
        print(f"\n{one.part} FAILED:\n{one.trouble}", file=sys.stderr)
    return 1 if failed else 0


def parse() -> argparse.Namespace:
    """The command line."""
    parser = options(__doc__)
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="a part, or the beginning of its name"
    )
    parser.add_argument(
        "--everything", action="store_true", help="parts that are not the paper's too, half an hour more"
    )
    parser.add_argument("--flordb", help="an interpreter that has flordb")
    parser.add_argument("--peers", help="an interpreter that has wandb and mlflow")
    parser.add_argument("--mirror", action="append", default=[], metavar="REPOSITORY=DIR")
    parser.add_argument("--programs", help="a folder of acceptance programs")
    args = parser.parse_args()
    for name in ("flordb", "peers"):
        if getattr(args, name):
            setattr(args, name, shutil.which(getattr(args, name)) or parser.error(f"--{name}: no such program"))
    return args


def main() -> int:
    """Run what is asked for."""
    args = parse()
    try:
        parts = chosen(args.only, args.quick, args.everything)
    except ValueError as error:
        sys.exit(f"{error}")
    where = places(args)
    status = report(run_all(parts, where, args), where)
    if where.results == RESULTS:
        (ROOT / "docs" / "evaluation.md").write_text(evaluation.page(RESULTS))
    return status


if __name__ == "__main__":
    sys.exit(main())
