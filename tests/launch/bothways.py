"""Runs a small script under `python` and under `flor record`, and says what can be seen of each."""

from __future__ import annotations

import difflib
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

FLOR = Path(sys.executable).with_name("flor")
LIMIT = 120
SHELL = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR")


@dataclass(frozen=True)
class Row:
    """One behaviour: a script, how it is started, and its words in docs/launcher.md if it is a row there."""

    name: str
    script: str | bytes
    args: tuple[str, ...] = ()
    target: tuple[str, ...] = ("script.py",)  # what comes after `python` and `flor record`
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    python: tuple[str, ...] = ()  # options of Python itself
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: str = ""
    cwd: str = "."
    table: str = ""

    def __str__(self) -> str:
        return self.name.replace(" ", "-")


@dataclass(frozen=True)
class Seen:
    """What can be seen of a script from outside."""

    code: int
    stdout: str
    stderr: str


Launcher = Callable[[Row], list[str]]


def by_python(row: Row) -> list[str]:
    """`python SCRIPT`."""
    return [sys.executable, *row.python, *row.target, *row.args]


def by_flor(row: Row) -> list[str]:
    """`flor record SCRIPT`, by way of `-m` where Python itself gets options."""
    start = [sys.executable, *row.python, "-m", "flor"] if row.python else [str(FLOR)]
    return [*start, "record", *row.target, *row.args]


def see(row: Row, folder: Path, launcher: Launcher) -> Seen:
    """Write the row's files into a fresh folder and run it there."""
    shutil.rmtree(folder, ignore_errors=True)
    write_files(folder, {"script.py": row.script, **row.files})
    for name, goal in row.links.items():
        (folder / name).symlink_to(goal)
    done = subprocess.run(
        launcher(row),
        cwd=folder / row.cwd,
        env=environment(row.env),
        input=row.stdin.encode(),
        capture_output=True,
        timeout=LIMIT,
    )
    return Seen(done.returncode, tidy(done.stdout.decode()), tidy(without_ours(done.stderr.decode())))


def tidy(text: str) -> str:
    """The text without what differs between two runs of the same script: addresses."""
    return re.sub(r"\b0x[0-9a-f]{6,}", "0x...", text)


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write texts without their common indent, and bytes as they are."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else textwrap.dedent(text).lstrip("\n").encode())


def environment(more: Mapping[str, str]) -> dict[str, str]:
    """A plain shell's environment, so that nothing of the test run itself is seen."""
    plain = {name: os.environ[name] for name in SHELL if name in os.environ}
    return {**plain, "OMP_NUM_THREADS": "1", **more}


def without_ours(stderr: str) -> str:
    """What is on stderr but for the lines that are flor's own."""
    return "".join(line for line in stderr.splitlines(keepends=True) if not line.startswith("flor: "))


def assert_same(row: Row, folder: Path) -> Seen:
    """Both ways of running the row look alike; gives what was seen."""
    plain, recorded = (see(row, folder, launcher) for launcher in (by_python, by_flor))
    assert recorded == plain, difference(plain, recorded)
    return recorded


def difference(plain: Seen, recorded: Seen) -> str:
    """What differs, line by line."""
    texts = [[f"exit {seen.code}", *seen.stdout.splitlines(), *seen.stderr.splitlines()] for seen in (plain, recorded)]
    return "\n" + "\n".join(difflib.unified_diff(*texts, "python", "flor record", lineterm="", n=1))


def names(rows: Sequence[Row]) -> list[str]:
    """What pytest calls the rows."""
    return [str(row) for row in rows]
