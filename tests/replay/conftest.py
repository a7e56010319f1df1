"""A folder in which a program is recorded, edited and replayed, and judged by a full run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest


@dataclass(frozen=True)
class Done:
    """What a process printed, and its exit code."""

    stdout: str
    stderr: str
    code: int


@dataclass(frozen=True)
class Workshop:
    """One program in one folder."""

    folder: Path

    def write(self, text: str, name: str = "train.py") -> None:
        """Put the program there; a line that ends in `#@` is only in the version with the probe."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))

    def program(self, text: str, probed: bool) -> None:
        """The program with or without its probe lines."""
        lines = [line for line in dedent(text).splitlines() if probed or not line.endswith("#@")]
        self.write("\n".join(line.removesuffix("#@").rstrip() for line in lines) + "\n")

    def run(self, *words: str) -> Done:
        """Run a command there."""
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        environment.pop("PYTHONHASHSEED", None)
        done = subprocess.run(
            [sys.executable, *words], cwd=self.folder, env=environment, capture_output=True, text=True, timeout=120
        )
        return Done(done.stdout, done.stderr, done.returncode)

    def flor(self, *words: str) -> Done:
        """Run the command line of flor there."""
        return self.run("-m", "flor", *words)

    def judged(self, text: str, *options: str) -> Done:
        """Record without the probe, replay with it, and require the output of a full run."""
        self.program(text, probed=False)
        recorded = self.flor("record", "--overhead", "10", "train.py")
        assert recorded.code == 0, recorded.stderr
        self.program(text, probed=True)
        oracle = self.run("train.py")
        replayed = self.flor("replay", "--all", "-j", "1", *options)
        assert (replayed.stdout, replayed.code) == (oracle.stdout, 0), replayed.stderr
        return self.flor("replay", "-j", "1", *options)

    def summary(self, *options: str) -> dict[str, object]:
        """The last object of `--json`."""
        done = self.flor("replay", "--json", *options)
        summary: dict[str, object] = json.loads(done.stdout.splitlines()[-1])["summary"]
        return summary


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    """An empty folder."""
    return Workshop(tmp_path)
