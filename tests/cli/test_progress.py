"""The bar of a replay: there on a terminal, nowhere else."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from flor.cli.progress import NEARLY, left, progress, share

REPLAYING = """
import time
from flor.cli.progress import progress
with progress(lambda: 100.0) as say:
    say("2 of 4 segments are done")
    time.sleep(0.4)
"""


def test_a_terminal_sees_how_far_it_is_and_how_long_it_takes() -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    command = [sys.executable, "-c", REPLAYING]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, env=environment, check=True)
    os.close(theirs)
    seen = b""
    while True:
        try:
            piece = os.read(ours, 1 << 16)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        seen += piece
    os.close(ours)
    text = seen.decode()
    assert "2 of 4 segments are done" in text and "min left" in text
    assert done.stdout == b""


def test_nothing_is_shown_and_nothing_estimated_elsewhere(capfd: pytest.CaptureFixture[str]) -> None:
    def estimate() -> float:
        raise AssertionError("nobody looks")

    with progress(estimate) as say:
        say("1 of 2 segments are done")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("elapsed", "words"),
    [(0.0, "about 2:05 min left"), (100.0, "about 25 s left"), (124.9, "about 1 s left")],
)
def test_the_rest_is_told_in_words(elapsed: float, words: str) -> None:
    assert left(elapsed, 125.0) == words


def test_what_takes_longer_than_expected_says_so_and_is_never_shown_as_done() -> None:
    assert left(130.0, 125.0) == "130 s, longer than expected"
    assert share(130.0, 125.0) == NEARLY
    assert share(1.0, 0.0) == 0.0
