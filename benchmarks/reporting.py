"""Where a part of the evaluation puts its numbers, its table and its picture."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from machine import facts

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results"
FIGURES = ROOT / "docs" / "figures"
NOT_KEPT = ("--results", "--figures", "--remark")
Numbers = dict[str, Any]


@dataclass(frozen=True)
class Places:
    """The folders that results go to, and whether they are those of a quick run."""

    results: Path
    figures: Path
    quick: bool = False
    remark: str = ""  # what a reader must know of these results, in words

    def find(self, name: str) -> Numbers:
        """The numbers of another part: of this run if it has them, else the committed ones."""
        for folder in (self.results, RESULTS):
            if (folder / f"{name}.json").exists():
                return dict(json.loads((folder / f"{name}.json").read_text()))
        sys.exit(f"{name}.json is neither in {self.results} nor in docs/results: run benchmarks/{name}.py first")

    def keep(self, name: str, numbers: Numbers, title: str, *texts: str) -> None:
        """Write NAME.json and NAME.md, and print the tables."""
        self.results.mkdir(parents=True, exist_ok=True)
        whole = {"command": command(), "quick": self.quick, "remark": self.remark, **numbers}
        if "machine" not in whole:
            whole = {"machine": facts(), **whole}
        (self.results / f"{name}.json").write_text(json.dumps(whole, indent=1) + "\n")
        machine = "; ".join(f"{fact}: {value}" for fact, value in whole["machine"].items())
        page = [f"# {title}", *remarks(whole), *texts, f"`{command()}`", f"Measured on: {machine}."]
        (self.results / f"{name}.md").write_text("\n\n".join(page) + "\n")
        print("\n\n".join(texts))

    def picture(self, name: str) -> Path:
        """The file for a picture."""
        self.figures.mkdir(parents=True, exist_ok=True)
        return self.figures / f"{name}.png"


def remarks(numbers: Numbers) -> list[str]:
    """What a reader must know of these results, if anything."""
    quick = "From a quick run, to be measured again: it shows that the part works, no more."
    return [*([quick] if numbers.get("quick") else []), *filter(None, [numbers.get("remark", "")])]


def drawn_from(source: Numbers) -> Numbers:
    """What holds for a part that only draws what another one has measured."""
    remark = {"remark": source["remark"]} if source.get("remark") else {}
    return {"machine": source["machine"], "quick": source.get("quick", False), **remark}


def command() -> str:
    """This process's command line, as one gives it in the repository; folders of the machine are left out."""
    script = Path(sys.argv[0]).resolve()
    shown = script.relative_to(ROOT) if script.is_relative_to(ROOT) else script.name
    return shlex.join(["python", str(shown), *without_folders(sys.argv[1:])])


def without_folders(words: Sequence[str]) -> list[str]:
    """The options of a command that say what was measured, without those that say where things are, and remarks."""
    kept: list[str] = []
    skip = False
    for word in words:
        if not skip and word not in NOT_KEPT:
            kept.append(word if "/" not in word else "PATH")
        skip = word in NOT_KEPT
    return kept


def options(doc: str | None) -> argparse.ArgumentParser:
    """A parser with the options that every part has."""
    parser = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small run, whose results go to a scratch folder")
    parser.add_argument("--write", action="store_true", help="results of a quick run go to docs/ all the same")
    parser.add_argument("--remark", default="", help="a sentence to be kept with the results")
    parser.add_argument("--results", type=Path, help="the folder for .json and .md")
    parser.add_argument("--figures", type=Path, help="the folder for pictures")
    return parser


def places(args: argparse.Namespace) -> Places:
    """The folders that the options ask for."""
    results, figures = RESULTS, FIGURES
    if args.quick and not args.write and not (args.results and args.figures):
        results = figures = Path(tempfile.mkdtemp(prefix="flor-benchmarks-"))
        print(f"results of this quick run are in {args.results or results}", file=sys.stderr)
    return Places((args.results or results).resolve(), (args.figures or figures).resolve(), args.quick, args.remark)


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)
