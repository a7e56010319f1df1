"""Scripts that ask the clock, the machine and the user in every place replay as they ran, times and all."""

from __future__ import annotations

import json
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent, indent

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


def test_what_a_killed_run_was_told_is_there_as_far_as_its_logs_are(zygote: Zygote, tmp_path: Path) -> None:
    killing = "import os, signal, time\n"
    line = "print(time.time(), flush=True)\nif epoch == 2 and os.path.exists('kill'):\n    "
    line += "os.kill(os.getpid(), signal.SIGKILL)"
    text = program("an elapsed time in a line").replace("# probe", f"# probe\n{indent(line, '    ')}")
    work, result = tmp_path / "work", tmp_path / "result"
    work.mkdir()
    (work / "train.py").write_text(killing + text)
    (work / "kill").touch()
    recorded = zygote.step("record", work)
    assert recorded.code == -signal.SIGKILL
    (work / "kill").unlink()
    (work / "train.py").write_text((killing + text).replace("# probe", PROBE))
    zygote.step("replay", work, workers=1, result=str(result))
    found = json.loads(result.read_text())
    assert (found["exit"], found["said"]) == (0, "")
    assert without_probes(found["stdout"]) == recorded.stdout


def test_a_probe_that_asks_the_clock_is_told_the_present_and_the_user_is_told_that(
    zygote: Zygote, tmp_path: Path
) -> None:
    text, work, result = program("an elapsed time in a line"), tmp_path / "work", tmp_path / "result"
    work.mkdir()
    (work / "train.py").write_text(text)
    recorded = zygote.step("record", work)
    then = time.time()
    (work / "train.py").write_text(text.replace("# probe", 'print("probe ", time.time())'))
    zygote.step("replay", work, workers=1, result=str(result))
    found = json.loads(result.read_text())
    assert (found["exit"], found["said"]) == (0, "")
    assert without_probes(found["stdout"]) == recorded.stdout
    asked = [float(line.split()[1]) for line in found["stdout"].splitlines() if line.startswith("probe ")]
    assert len(asked) == 4 and min(asked) > then
    assert [text for text in found["told"] if "time.time itself" in text]


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
    """The output without the probe's lines."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("probe "))
