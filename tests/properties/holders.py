"""Kinds of stateful object, each changed in a loop that a replay skips, and read afterwards in three ways.

`holders.ideas` has them: a line `== name`, then `-- top` of the file, `-- setup` before the loops, `-- inner` which
changes the object and `-- read`, an expression that shows its state. The judge is a full run.
As a script it judges all of them, or those whose name has one of the given words; with `--write` it writes the table of
docs/capture.md.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import textwrap
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
sys.path.append(str(HERE))

from judging import EXACT, RAISES, REFUSES, WRONG, record, replay  # noqa: E402
from zygote import Zygote  # noqa: E402

from flor.model.checkpoints import Key  # noqa: E402

DOCS = HERE.parents[1] / "docs" / "capture.md"
KEPT, EXECUTED, TOLD = "kept", "executed", "told"
Rows = dict[str, tuple[str, ...]]
"""What becomes of each kind, read in each way."""

BEGIN, END = "<!-- holders: begin -->", "<!-- holders: end -->"
MODULES = ("tqdm",)
"""Imported by the zygote, so that no step has to."""

PROGRAM = """\
import os, random, time, zlib
random.seed(1)
{top}
{setup}
total = 0
for epoch in range(5):
    for i in range(3):
{inner}
{after}    print("total", epoch, total)
"""
TRAINS_ON_IT = "    if epoch >= 2:\n        total = (total * 31 + zlib.crc32(repr({read}).encode())) % 1000003\n"
PROBE = '    print("probe", epoch, {read})\n'
KILLED = '    if epoch == 3 and os.path.exists("kill"):\n        os.remove("kill"), time.sleep(0.3), os._exit(9)\n'


@dataclass(frozen=True)
class Holder:
    """One kind of object."""

    name: str
    top: str
    setup: str
    inner: str
    read: str

    def text(self, after: str) -> str:
        """The program, with these statements behind the inner loop."""
        inner = textwrap.indent(self.inner, " " * 8)
        return PROGRAM.format(top=self.top, setup=self.setup, inner=inner, after=after.replace("{read}", self.read))


def read(text: str) -> Iterator[Holder]:
    """The holders of a file."""
    for block in re.split(r"^== ", text, flags=re.MULTILINE)[1:]:
        name, _, rest = block.partition("\n")
        parts = dict(part.split("\n", 1) for part in re.split(r"^-- ", rest, flags=re.MULTILINE)[1:])
        places = {place: parts.get(place, "").strip("\n") for place in ("top", "setup", "inner", "read")}
        yield Holder(name, **places)


HOLDERS = {holder.name: holder for holder in read((HERE / "holders.ideas").read_text())}


@dataclass(frozen=True)
class Judged:
    """What becomes of one kind of object when it is read in one way."""

    verdict: str
    why: str = ""


def judge(holder: Holder, zygote: Zygote, folder: Path) -> tuple[Judged, Judged, Judged]:
    """All three ways."""
    return (
        by_probe(holder, zygote, folder / "probe"),
        by_training(holder, zygote, folder / "jump"),
        by_resume(holder, zygote, folder / "resume"),
    )


def by_probe(holder: Holder, zygote: Zygote, folder: Path) -> Judged:
    """Read by a probe after the inner loop, by one worker that skips it and by two of which one jumps."""
    recorded = record(zygote, folder, holder.text(""))
    assert recorded.ran.code == 0, recorded.ran.stderr
    before = folder.with_name("recorded")
    shutil.copytree(folder, before)
    found = []
    for workers in (1, 2):
        if workers == 2:
            shutil.rmtree(folder)
            shutil.copytree(before, folder)
        done = replay(recorded, holder.text(PROBE), workers)
        word = KEPT if done.restored and not done.again else EXECUTED
        verdicts = {EXACT: word, WRONG: WRONG}
        found.append(Judged(verdicts.get(done.verdict, TOLD), "; ".join([done.why, done.said, *done.again])))
    shutil.rmtree(before)
    return max(found, key=lambda one: [KEPT, EXECUTED, TOLD, WRONG].index(one.verdict))


def by_training(holder: Holder, zygote: Zygote, folder: Path) -> Judged:
    """Read by training after a jump to a resume point, and after a skip of the inner loop."""
    recorded = record(zygote, folder, holder.text(TRAINS_ON_IT))
    assert recorded.ran.code == 0, recorded.ran.stderr
    found = [recorded.continue_from(key) for key in _chosen(recorded.keys(None))]
    wrong = [one for one in found if one.verdict in (WRONG, RAISES)]
    if wrong:  # what is logged is right, but the state is not: a replay notices that, and executes from the beginning
        return Judged(EXECUTED if wrong[0].why.startswith("state:") else WRONG, str(wrong[0]))
    exact = [one for one in found if one.verdict == EXACT]
    refused = next((one.why for one in found if one.verdict == REFUSES), "no checkpoint")
    return Judged(KEPT) if len(exact) == len(found) and exact else Judged(EXECUTED, refused)


def _chosen(keys: list[Key]) -> list[Key]:
    """A resume point of the outer loop and an end of the inner one, late in the run."""
    points = [key for key in keys if not key.execution.parent and key.iteration == 3]
    ends = [key for key in keys if key.iteration is None and key.execution.parent]
    return [*points, *ends[3:4]]


def by_resume(holder: Holder, zygote: Zygote, folder: Path) -> Judged:
    """Read by training that goes on after the run was killed."""
    text = holder.text(KILLED + TRAINS_ON_IT)
    folder.mkdir(parents=True)
    (folder / "train.py").write_text(text)
    whole = zygote.step("plain", folder)
    shutil.rmtree(folder)
    folder.mkdir()
    (folder / "kill").write_text("")
    recorded = record(zygote, folder, text)
    assert recorded.ran.code == 9, recorded.ran.stderr
    resumed = zygote.step("resume", folder)
    if "No checkpoint" in resumed.stderr or "no checkpoint" in resumed.stderr:
        return Judged(TOLD, resumed.stderr.strip()[-200:])
    if resumed.code:
        return Judged(TOLD if "flor:" in resumed.stderr else WRONG, resumed.stderr.strip()[-300:])
    if resumed.stdout and whole.stdout.endswith(resumed.stdout):
        return Judged(EXECUTED if "An earlier one is tried" in resumed.stderr else KEPT)
    told = "not sure" in resumed.stderr
    return Judged(TOLD if told else WRONG, f"wanted the end of {whole.stdout!r}, got {resumed.stdout!r}")


def _is_asked(name: str, words: list[str]) -> bool:
    asked = [word for word in words if not word.startswith("--")]
    return not asked or any(word in name for word in asked)


def _judge_all(holders: Iterable[Holder], *, why: bool) -> Rows:
    """Take holders off a common iterator and judge them, one after the other."""
    rows: Rows = {}
    with Zygote(*MODULES) as zygote:
        for holder in holders:
            folder = Path(tempfile.mkdtemp())
            try:
                judged = judge(holder, zygote, folder)
                rows[holder.name] = tuple(one.verdict for one in judged)
                told = [f"\n       {one.verdict} {one.why[:400]}" for one in judged if one.verdict == WRONG or why]
                print(f"{holder.name:40}", *(f"{one.verdict:9}" for one in judged), *told, flush=True)
            except Exception as error:
                print(f"{holder.name:40} ERROR {type(error).__name__} {str(error)[-400:]}", flush=True)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
    return rows


def rows_of_docs() -> Rows:
    """What the docs say."""
    text = DOCS.read_text().partition(BEGIN)[2].partition(END)[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if "|" in line]
    return {name: tuple(words) for name, *words in cells[2:]}


def _write(rows: Rows) -> None:
    """Write the table of the docs."""
    head = ["| object | read by a probe | by training | by a resumed run |", "|---|---|---|---|"]
    table = "\n".join([*head, *(f"| {' | '.join((name, *rows[name]))} |" for name in HOLDERS if name in rows)])
    before, _, rest = DOCS.read_text().partition(BEGIN)
    DOCS.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{rest.partition(END)[2]}")


def main(words: list[str]) -> int:
    """Judge those whose names have one of the words, or all; `--write` writes the docs, `--why` gives reasons."""
    chosen = [h for h in HOLDERS.values() if _is_asked(h.name, words)]
    left, lock = iter(chosen), threading.Lock()

    def take() -> Iterator[Holder]:
        while True:
            with lock:
                holder = next(left, None)
            if holder is None:
                return
            yield holder

    with ThreadPoolExecutor(2) as pool:
        parts = [pool.submit(_judge_all, take(), why="--why" in words) for _ in range(min(2, len(chosen)))]
        rows = {name: found for part in parts for name, found in part.result().items()}
    wrong = [name for name, found in rows.items() if WRONG in found]
    print(f"{len(rows)} of {len(chosen)} judged; wrong: {wrong}")
    if "--write" in words and not wrong and len(rows) == len(HOLDERS):
        _write(rows)
    return 1 if wrong or len(rows) < len(chosen) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
