"""A figure of the paper as a script: recorded without some of its lines, replayed with them, judged by a full run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
EPOCHS = "4"


@dataclass(frozen=True)
class Bench:
    """A folder with `train.py` in it, and a store."""

    folder: Path

    def write(self, figure: str, *lines: str) -> None:
        """Put a figure there, of its marked lines only the given ones."""
        kept = [
            line
            for line in (EXAMPLES / figure).read_text().splitlines()
            if "  # line " not in line or line.rpartition("# ")[2] in lines
        ]
        (self.folder / "train.py").write_text("\n".join(kept) + "\n")

    def edit(self, old: str, new: str) -> None:
        """Replace a text of the script."""
        text = (self.folder / "train.py").read_text()
        assert old in text
        (self.folder / "train.py").write_text(text.replace(old, new))

    def python(self, *words: str, **variables: str) -> str:
        """Run the script as plain Python; what it prints."""
        return self._run("train.py", *words, **variables).stdout

    def flor(self, *words: str) -> str:
        """Run the command line of flor; what it prints."""
        return self._run("-m", "flor", *words).stdout

    def error(self, *words: str, **variables: str) -> str:
        """Run a script that has to fail; what it says."""
        done = self._run(*words, fails=True, **variables)
        return done.stderr

    def values(self, store: str, name: str) -> list[Any]:
        """The values that were logged under a name, by the run or by its latest replay."""
        rows = [json.loads(line) for line in self.flor("logs", "--store", store, "--json").splitlines()]
        return [row["value"] for row in rows if row["name"] == name]

    def summary(self, *options: str) -> dict[str, Any]:
        """The last object of `flor replay --json`."""
        found: dict[str, Any] = json.loads(self.flor("replay", "--json", *options).splitlines()[-1])["summary"]
        return found

    def _run(self, *words: str, fails: bool = False, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "FLOR_OVERHEAD": "10", **variables}
        done = subprocess.run(
            [sys.executable, *words], cwd=self.folder, env=environment, capture_output=True, text=True, timeout=300
        )
        assert (done.returncode != 0) == fails, done.stderr
        return done
