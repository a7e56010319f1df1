"""Scripts that ask the clock, the machine and the user in every place replay as they ran, times and all."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest
from clocks import PIECES, PROBE, program
from zygote import Zygote

SOME = 9  # pieces in one program
KEPT = [name for name in PIECES if PIECES[name].kept]
TOGETHER = [
    *(tuple(KEPT[at : at + SOME]) for at in range(0, len(KEPT), SOME)),
    tuple(name for name in PIECES if name not in KEPT),
]


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    with Zygote() as started:
        yield started


@pytest.mark.parametrize("names", TOGETHER, ids=lambda names: names[0])
def test_what_the_world_said_is_said_again(zygote: Zygote, tmp_path: Path, names: tuple[str, ...]) -> None:
    check(zygote, tmp_path, names, ways=(2,))


@pytest.mark.long
@pytest.mark.parametrize("name", PIECES)
def test_each_place_by_itself_and_with_one_worker_or_two(zygote: Zygote, tmp_path: Path, name: str) -> None:
    check(zygote, tmp_path, (name,), ways=(1, 2))


def check(zygote: Zygote, tmp_path: Path, names: tuple[str, ...], ways: tuple[int, ...]) -> None:
    """Record a program, add a probe, replay in a fresh copy; the recorded output is the judge."""
    text, work = program(*names), tmp_path / "work"
    work.mkdir()
    for file, content in {"train.py": text, **{k: v for n in names for k, v in PIECES[n].files.items()}}.items():
        (work / file).write_text(dedent(content))
    (tmp_path / "stdin").write_text("".join(PIECES[name].stdin for name in names))
    recorded = zygote.step("record", work, stdin=str(tmp_path / "stdin"))
    assert recorded.code == 0, recorded.stderr
    (work / "train.py").write_text(text.replace("# probe", PROBE))
    for workers in ways:
        copy, result = tmp_path / f"copy{workers}", tmp_path / f"result{workers}"
        shutil.copytree(work, copy)
        zygote.step("replay", copy, workers=workers, result=str(result))
        found = json.loads(result.read_text())
        assert (found["exit"], found["said"], found["again"]) == (0, "", [])
        assert without_probes(found["stdout"]) == recorded.stdout
        assert found["stdout"].count("probe ") == 4
        assert bool(found["restored"]) is all(PIECES[name].kept for name in names) or workers == 1


def without_probes(text: str) -> str:
    """The output without the probe's lines, with the ends of lines that reading a file gives."""
    lines = text.replace("\r", "\n").splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("probe "))
