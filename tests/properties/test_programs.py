"""Generated training programs: going on from a checkpoint, and replaying with probes, gives what a full run gives.

`benchmarks/fidelity.py` does the same with 300 programs; its tables are in docs/fidelity.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from judging import EXACT, WRONG, record, replay
from programs import generate
from zygote import Zygote

IDIOMATIC = range(12)
WILD = range(10)


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    with Zygote() as started:
        yield started


@pytest.mark.parametrize("seed", IDIOMATIC)
def test_an_idiomatic_program_is_kept_and_replayed_exactly(zygote: Zygote, tmp_path: Path, seed: int) -> None:
    program = generate(seed, "idiomatic")
    recorded = record(zygote, tmp_path / "work", program.text())
    assert (recorded.ran.code, recorded.refusals) == (0, {})
    continued = [recorded.continue_from(key) for key in recorded.keys(2)]
    assert [str(one) for one in continued if one.verdict == WRONG] == []
    replayed = replay(recorded, program.text(*program.some_probes()))
    assert (replayed.verdict, replayed.why) == (EXACT, "")


@pytest.mark.parametrize("seed", WILD)
def test_a_wild_program_is_never_silently_wrong(zygote: Zygote, tmp_path: Path, seed: int) -> None:
    program = generate(seed, "wild")
    recorded = record(zygote, tmp_path / "work", program.text())
    assert recorded.ran.code == 0, recorded.ran.stderr
    continued = [recorded.continue_from(key) for key in recorded.keys(2)]
    assert [str(one) for one in continued if one.verdict == WRONG] == []
    replayed = replay(recorded, program.text(*program.some_probes()))
    assert replayed.verdict != WRONG, replayed.why


def test_recording_a_program_changes_nothing_that_it_prints(zygote: Zygote, tmp_path: Path) -> None:
    text = generate(3, "wild").text()
    recorded = record(zygote, tmp_path / "work", text)
    assert recorded.ran.stdout == zygote.step("plain", tmp_path / "work").stdout


def test_a_seed_gives_the_same_program_again() -> None:
    assert generate(7, "wild").text(0, 1) == generate(7, "wild").text(0, 1)
    assert generate(7, "wild").text() != generate(8, "wild").text()
