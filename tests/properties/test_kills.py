"""A run that is killed at any moment replays as far as it came, and goes on as if nothing had happened."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from killing import SHAPES, Kill, judge, whole_run
from zygote import Zygote


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    with Zygote() as started:
        yield started


SAMPLE = [
    Kill("nested", "log", 9),
    Kill("steps", "announced", 4),
    Kill("files", "boundary", 14),
    Kill("loader", "log", 22),  # in its last epoch
    Kill("function", "pack", 6),
    Kill("while", "end", 1),
]


@pytest.mark.parametrize("kill", SAMPLE, ids=str)
def test_a_killed_run_replays_exactly_and_is_resumed(zygote: Zygote, tmp_path: Path, kill: Kill) -> None:
    judged = judge(zygote, kill, whole_run(zygote, kill.shape, tmp_path), tmp_path / "kill")
    assert judged.faults == []
    assert judged.killed and judged.replayed


@pytest.mark.long
def test_two_hundred_kills(zygote: Zygote, tmp_path: Path) -> None:
    wholes = {shape: whole_run(zygote, shape, tmp_path) for shape in SHAPES}
    faults = []
    for seed in range(200):
        kill = Kill.drawn(seed)
        faults += [f"{kill}: {fault}" for fault in judge(zygote, kill, wholes[kill.shape], tmp_path / str(seed)).faults]
    assert faults == []
