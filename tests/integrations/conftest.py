"""A folder with a training script, and frameworks that may be missing on the machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.replay.conftest import Done, Workshop

RATE = re.compile(r"('\w+(?:_runtime|_per_second)': )'?[-\d.e+]+'?")


class Studio(Workshop):
    """A workshop whose programs print how fast they were."""

    def exact(self, text: str, *options: str) -> Done:
        """Record without the probe, replay with it, and require what a full run prints, times and rates apart."""
        self.program(text, probed=False)
        every = ("--overhead", "inf", "--materialize", "sync")  # checkpoint, on a busy machine too
        recorded = self.flor("record", *every, "train.py")
        assert recorded.code == 0, recorded.stderr
        self.program(text, probed=True)
        oracle = self.run("train.py")
        assert oracle.code == 0, oracle.stderr
        replayed = self.flor("replay", "--all", *(options or ("-j", "1")))
        assert (steady(replayed.stdout), replayed.code) == (steady(oracle.stdout), 0), replayed.stderr
        return replayed


def steady(text: str) -> str:
    """The text without times, rates and progress bars."""
    lines = [line for line in text.split("\n") if "\r" not in line and "it/s" not in line]
    return RATE.sub(r"\1~", "\n".join(lines))


@pytest.fixture
def studio(tmp_path: Path) -> Studio:
    """An empty folder."""
    return Studio(tmp_path)
