"""A scratch folder with a training script in it, and what is run there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

PROBE = "PROBE"
_BLOCKS = re.compile(r"(\d+) blocks executed, (\d+) skipped")


class Failed(Exception):
    """A command did not end well, or a replay is not what the full run prints."""


@dataclass(frozen=True)
class Ran:
    """What a process printed and how long it took."""

    seconds: float
    stdout: str
    stderr: str

    def probed(self, mark: str = PROBE) -> list[str]:
        """The lines of a probe."""
        return [line for line in self.stdout.splitlines() if line.startswith(mark)]

    def training(self) -> float:
        """The seconds that the script itself says it has trained."""
        return float(re.findall(r"^seconds ([\d.e+-]+)$", self.stdout, re.MULTILINE)[-1])

    def blocks(self) -> tuple[int, int]:
        """How many loops a replay executed, and how many it skipped."""
        found = _BLOCKS.search(self.stderr)
        return (int(found[1]), int(found[2])) if found else (0, 0)


@dataclass(frozen=True)
class Scene:
    """A folder with `train.py`."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    def write(self, text: str) -> None:
        """Put this script there."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "train.py").write_text(text)

    def run(self, *command: str) -> Ran:
        """Run a command there, with one thread a process; it must go well."""
        environment = {**os.environ, "OMP_NUM_THREADS": "1", **self.environment}
        begun = time.perf_counter()
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True)
        seconds = time.perf_counter() - begun
        if done.returncode:
            shown = " ".join(Path(word).name if word.startswith("/") else word for word in command)
            raise Failed(f"`{shown}` ended with {done.returncode}:\n{done.stderr[-2000:]}")
        return Ran(seconds, done.stdout, done.stderr)

    def plain(self, *args: str) -> Ran:
        """A run without flor, or with what the script itself calls of it."""
        return self.run(sys.executable, "train.py", *args)

    def flor(self, *args: str) -> Ran:
        """A command of flor."""
        return self.run(sys.executable, "-m", "flor", *args)

    def record(self, *args: str, options: tuple[str, ...] = ()) -> Ran:
        """A recorded run, in an empty store, so that what is there is of this run."""
        shutil.rmtree(self.folder / ".flor", ignore_errors=True)
        return self.flor("record", *options, "train.py", *args)

    def replay(self, *options: str) -> Ran:
        """A replay that is not answered from an earlier one."""
        for earlier in self.folder.glob(".flor/runs/*/replays"):
            shutil.rmtree(earlier)
        return self.flor("replay", *options)

    def checkpoints(self) -> list[dict[str, float]]:
        """Of each checkpoint of the run: the bytes of its state, and those that were written for it."""
        from flor.query.runs import run

        notes = [note.values for note in run(store=self.folder / ".flor").checkpoints]
        return [{"logical": note["bytes_logical"], "written": note["bytes_written"]} for note in notes]


def expect_equal(what: str, wanted: list[str], got: list[str]) -> None:
    """A wrong value is a failure, whatever the time it took."""
    if not wanted:
        raise Failed(f"{what}: the full run has printed no line of a probe")
    if wanted != got:
        first = next((n for n, pair in enumerate(zip(wanted, got, strict=False)) if pair[0] != pair[1]), len(got))
        shown = json.dumps([wanted[first : first + 1], got[first : first + 1]])
        raise Failed(f"{what}: not what the full run prints, line {first + 1} of {len(wanted)}: {shown}")
