"""Public training scripts, unmodified, under flor: is the replay exact, is recording harmless, how fast is it?

    python benchmarks/real_scripts.py --mirror pytorch/examples=DIR --mirror karpathy/nanoGPT=DIR [--only NAME]...
        [--json FILE] [--page FILE]

A mirror is a git directory (bare or not) with the scripts; nothing of them is kept here. For each script: a plain run,
`flor record`, then for each probe a full run with the probe in place, which is the oracle, and replays with one and
with two workers, whose output must be the oracle's probe lines. Modules that the scripts import and that may not be
here come from `standins/`. Rows that a `--json` file has already are replaced by those measured now, the others stay;
`--page` renders them all (docs/real-scripts.md, from docs/results/real_scripts.json).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from string import Template

from machine import facts_line
from real_cases import CASES, Case, Probe

STANDINS = Path(__file__).with_name("standins")
# What two plain runs of these scripts print differently: times, rates, and what is computed of them.
TIMES = re.compile(
    r"(?<=time )[\d.]+ms, mfu -?[\d.]+%|(?<=time: )[ \d.]+s|(?<=ms/batch )[ \d.]+"
    r"|(?<=Time )[ \d.()]+|(?<=Data )[ \d.()]+|\([\d.]+s\)"
)


@dataclass(frozen=True)
class Done:
    """What a process printed, its exit code, and how long it took."""

    stdout: str
    stderr: str
    code: int
    seconds: float

    def probed(self) -> list[str]:
        """The probe's lines."""
        return [line for line in self.stdout.splitlines() if line.startswith("PROBE")]

    def unprobed(self) -> str:
        """The output with its times made equal and without the probe's lines."""
        lines = self.masked().splitlines(keepends=True)
        return "".join(line for line in lines if not line.startswith("PROBE"))

    def masked(self) -> str:
        """The output with its times made equal."""
        return TIMES.sub("#", self.stdout)


@dataclass
class Row:
    """What was found with one script and one probe."""

    script: str
    probe: str
    verdict: str = "exact"
    full: float = 0.0
    one: float = 0.0
    two: float = 0.0
    executed: int = 0
    skipped: int = 0
    lines: int = 0
    recorded: float = 0.0
    plain: float = 0.0
    notes: list[str] = field(default_factory=list)

    def worse(self, verdict: str, note: str) -> None:
        """Keep the worst verdict, and each reason."""
        order = ("exact", "told", "refused", "WRONG", "harm")
        self.verdict = max(self.verdict, verdict, key=order.index)
        self.notes.append(f"{verdict}: {note}")

    def count(self, said: str) -> None:
        """Take the numbers of blocks, and why checkpoints did not suffice, from the verdict's line."""
        found = re.search(r"(\d+) blocks executed, (\d+) skipped", said)
        if found:
            self.executed, self.skipped = int(found[1]), int(found[2])
        again = re.search(r"executed from the beginning.*", said)
        if again:
            self.notes.append(again[0][:400])


@dataclass(frozen=True)
class Bench:
    """The machine's side: how to run python and flor, and where the scripts are."""

    mirrors: dict[str, str]
    flor: list[str]
    limit: float

    def folder(self, case: Case, root: Path) -> Path:
        """Where the script is."""
        return root / (Path(case.script).parent.name or case.name)

    def unpack(self, case: Case, root: Path) -> Path:
        """The script's folder, as in its repository, with its data made."""
        folder = self.folder(case, root)
        folder.mkdir(parents=True)
        top = str(Path(case.script).parent)
        git = ["git", f"--git-dir={self.mirrors[case.repository]}"]
        listing = subprocess.run([*git, "ls-tree", "-r", "--name-only", "HEAD"], capture_output=True, text=True)
        for name in listing.stdout.splitlines():
            if name.endswith(".py") and (str(Path(name).parent) == top or top == "."):
                text = subprocess.run([*git, "show", f"HEAD:{name}"], capture_output=True, check=True).stdout
                target = folder / Path(name).relative_to(top)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(text)
        case.prepare(folder)
        return folder

    def run(self, command: list[str], folder: Path) -> Done:
        """Run a command there, with one thread a process."""
        path = os.pathsep.join([str(STANDINS), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        environment.pop("PYTHONHASHSEED", None)
        environment["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] = "1"  # one script is older than that default of torch.load
        begun = time.perf_counter()
        try:
            done = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, text=True, timeout=self.limit
            )
        except subprocess.TimeoutExpired as error:
            return Done("", f"no end after {error.timeout} s", 124, self.limit)
        return Done(done.stdout, done.stderr, done.returncode, time.perf_counter() - begun)

    def script(self, case: Case, folder: Path) -> Done:
        """A plain run."""
        return self.run([sys.executable, Path(case.script).name, *shlex.split(case.arguments)], folder)

    def probed(self, case: Case, probe: Probe, root: Path) -> Done:
        """A plain run with the probe in place: the oracle."""
        script = self.unpack(case, root) / (probe.file or Path(case.script).name)
        script.write_text(insert(probe, script.read_text()))
        return self.script(case, script.parent)

    def record(self, case: Case, folder: Path) -> Done:
        """A recorded run."""
        return self.run([*self.flor, "record", Path(case.script).name, *shlex.split(case.arguments)], folder)

    def replay(self, folder: Path, *options: str) -> Done:
        """A replay of the sources as they are now; earlier ones are forgotten, or the store would answer at once."""
        for earlier in folder.glob(".flor/runs/*/replays"):
            shutil.rmtree(earlier)
        return self.run([*self.flor, "replay", *options], folder)


def insert(probe: Probe, text: str) -> str:
    """The script with the probe in it."""
    lines = text.splitlines(keepends=True)
    found = [number for number, line in enumerate(lines) if probe.after in line]
    if len(found) <= probe.nth:
        raise SystemExit(f"no line {probe.nth} with {probe.after!r}: the script has changed")
    at = found[probe.nth]
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    before = lines[at] if lines[at].endswith("\n") else lines[at] + "\n"
    return "".join([*lines[:at], before, f"{indent}{probe.text}\n", *lines[at + 1 :]])


def contents(folder: Path) -> dict[str, str]:
    """A hash of each file that the script's folder holds."""
    files = (path for path in folder.rglob("*") if path.is_file() and ".flor" not in path.parts)
    files = (path for path in files if path.suffix != ".pdf")  # these hold the time at which they were made
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def try_case(bench: Bench, case: Case, root: Path) -> Iterator[Row]:
    """Run it plainly, record it, then replay it with each probe; all at the same path."""
    plain, written = aside(root, lambda: bench.script(case, bench.unpack(case, root)), bench.folder(case, root))
    folder = bench.unpack(case, root)
    recorded = bench.record(case, folder)
    for probe in case.probes:
        row = Row(case.name, probe.kind, plain=plain.seconds, recorded=recorded.seconds)
        if recorded.code != plain.code or (case.seeded and recorded.masked() != plain.masked()):
            row.worse("harm", f"record: {difference(plain.masked(), recorded.masked())}; {tail(recorded.stderr)}")
        if plain.code != 0:
            row.worse("harm", f"the plain run fails: {tail(plain.stderr)}")
        elif contents(folder) != written:
            row.worse("harm", f"record wrote other files: {sorted(contents(folder).items() ^ written.items())}")
        else:
            try_probe(bench, case, probe, root, recorded, row)
        yield row


def try_probe(bench: Bench, case: Case, probe: Probe, root: Path, recorded: Done, row: Row) -> None:
    """Replay with one probe, beside the oracle."""
    folder = bench.folder(case, root)
    script = folder / (probe.file or Path(case.script).name)
    original = script.read_text()
    script.write_text(insert(probe, original))
    before = contents(folder)
    one, two = bench.replay(folder, "-j", "1"), bench.replay(folder, "-j", "2")
    whole = bench.replay(folder, "-j", "2", "--all") if probe is case.probes[0] else None
    if contents(folder) != before:
        row.worse("harm", "replay changed files of the run")
    script.write_text(original)
    oracle, _ = aside(root, lambda: bench.probed(case, probe, root), folder)
    row.full, row.one, row.two, row.lines = oracle.seconds, one.seconds, two.seconds, len(oracle.probed())
    wanted = "\n".join(oracle.probed() if case.seeded else one.probed())
    judge(row, "-j 1", one, wanted, one.stdout.rstrip("\n"))
    judge(row, "-j 2", two, wanted, two.stdout.rstrip("\n"))
    if whole is not None and case.seeded:
        judge(row, "--all", whole, oracle.masked(), whole.masked())
    elif whole is not None:
        judge(row, "--all", whole, recorded.masked(), whole.unprobed())
    row.count(one.stderr)


def aside(root: Path, run: Callable[[], Done], folder: Path) -> tuple[Done, dict[str, str]]:
    """Run something at the same path with what is there moved out of the way, and what files it left."""
    kept = root.with_name(root.name + ".kept")
    if root.exists():
        root.rename(kept)
    done = run()
    files = contents(folder)
    shutil.rmtree(root)
    if kept.exists():
        kept.rename(root)
    return done, files


def judge(row: Row, what: str, done: Done, wanted: str, got: str) -> None:
    """Compare one replay's output with the oracle's."""
    if done.code not in (0, 3):
        row.worse("refused", f"{what}: exit {done.code}: {tail(done.stderr)}")
    elif done.code == 3:
        equal = "all equal, yet " if wanted == got else ""
        row.worse("told", f"{what}: {equal}{tail(done.stderr)}")
    elif wanted != got:
        row.worse("WRONG", f"{what}: {difference(wanted, got)}")


def difference(wanted: str, got: str) -> str:
    """The first line that differs."""
    ours, theirs = got.splitlines(), wanted.splitlines()
    for number, (left, right) in enumerate(zip(theirs, ours, strict=False)):
        if left != right:
            return f"line {number + 1} of {len(theirs)}: wanted {left[:160]!r}, got {right[:160]!r}"
    return f"wanted {len(theirs)} lines, got {len(ours)}"


def tail(text: str) -> str:
    """The end of what was said on stderr."""
    return " / ".join(text.strip().splitlines()[-4:])[-700:]


def table(rows: list[Row]) -> str:
    """The rows as a table in Markdown."""
    head = "| script | probe | lines | verdict | full, s | replay -j 1, s | -j 2, s | speed-up | executed | skipped |"
    lines = [head, "|---|---|---|---|---|---|---|---|---|---|"]
    for row in rows:
        faster = row.full / min(row.one, row.two) if row.one and row.two else 0
        lines.append(
            f"| {row.script} | {row.probe} | {row.lines} | {row.verdict} | {row.full:.1f} | {row.one:.1f} "
            f"| {row.two:.1f} | {faster:.1f} | {row.executed} | {row.skipped} |"
        )
    return "\n".join(lines)


def with_earlier(rows: list[Row], earlier: list[Row]) -> list[Row]:
    """All rows in the order of the cases, those measured now in place of earlier ones."""
    known = {(row.script, row.probe): row for row in [*earlier, *rows]}
    places = {case.name: place for place, case in enumerate(CASES)}
    return sorted(known.values(), key=lambda row: (places.get(row.script, len(places)), row.probe != "outer"))


def page(rows: list[Row]) -> str:
    """The page of the documentation."""
    exact = sum(row.verdict == "exact" for row in rows)
    others = [f"{row.script}, {row.probe}: {'; '.join(row.notes)}" for row in rows if row.verdict != "exact"]
    return Template((Path(__file__).parent / "real_scripts.template.md").read_text()).substitute(
        exact=exact,
        all=len(rows),
        table=table(rows),
        machine=facts_line(),
        others="\n".join(f"- {one}" for one in others),
    )


def main() -> None:
    """Try each script, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mirror", action="append", default=[], metavar="REPOSITORY=DIR", required=True)
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="a part of a script's name")
    parser.add_argument("--flor", default=f"{sys.executable} -m flor", help="the command line of flor")
    parser.add_argument("--limit", type=float, default=300, help="seconds that one process may take")
    parser.add_argument("--keep", type=Path, help="work here, and leave it all there")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--page", type=Path)
    args = parser.parse_args()
    bench = Bench(dict(pair.split("=", 1) for pair in args.mirror), shlex.split(args.flor), args.limit)
    rows: list[Row] = []
    for case in CASES:
        if args.only and not any(name in case.name for name in args.only):
            continue
        if case.repository not in bench.mirrors:
            print(f"{case.name}: left out: no --mirror {case.repository}=DIR", flush=True)
            continue
        with tempfile.TemporaryDirectory() as folder:
            root = args.keep / case.name.replace(", ", "-").replace(" ", "-") if args.keep else Path(folder)
            for row in try_case(bench, case, root):
                rows.append(row)
                print(f"{row.script}, {row.probe}: {row.verdict}", *row.notes, sep="\n    ", flush=True)
    print("\n" + table(rows))
    if args.json:
        earlier = [Row(**row) for row in json.loads(args.json.read_text())] if args.json.exists() else []
        rows = with_earlier(rows, earlier)
        args.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    if args.page:
        args.page.write_text(page(rows))


if __name__ == "__main__":
    main()
