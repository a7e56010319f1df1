"""Every kind of stateful object is kept, or executed, or told: never silently wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.append(str(HERE))

from holders import EXECUTED, HOLDERS, KEPT, TOLD, WRONG, judge, rows_of_docs  # noqa: E402
from trips import ON_DISK  # noqa: E402
from zygote import Zygote  # noqa: E402

TODAY = date.today().toordinal()
SOME = [name for number, name in enumerate(HOLDERS) if number % 6 == TODAY % 6 and name not in ON_DISK]


def verdicts(*names: str) -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(HERE / "trips.py"), *names],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_the_table_in_the_docs_has_every_kind_and_none_is_wrong() -> None:
    documented = rows_of_docs()
    assert documented.keys() == HOLDERS.keys()
    assert {word for words in documented.values() for word in words} <= {KEPT, EXECUTED, TOLD}
    assert len(HOLDERS) >= 150


def test_a_part_of_the_kinds_another_one_each_day_survives_a_checkpoint() -> None:
    assert WRONG not in verdicts(*SOME).values()


@pytest.mark.long
def test_all_kinds_survive_a_checkpoint() -> None:
    assert WRONG not in verdicts().values()


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    with Zygote() as one:
        yield one


@pytest.mark.parametrize("name", ["threading.Event", "matplotlib line"])
def test_read_by_a_probe_by_training_and_after_a_resume_nothing_is_wrong(
    name: str, zygote: Zygote, tmp_path: Path
) -> None:
    assert [one.why for one in judge(HOLDERS[name], zygote, tmp_path) if one.verdict == WRONG] == []


@pytest.mark.long
@pytest.mark.parametrize("name", HOLDERS)
def test_no_kind_is_wrong_in_any_way(name: str, zygote: Zygote, tmp_path: Path) -> None:
    assert [one.why for one in judge(HOLDERS[name], zygote, tmp_path) if one.verdict == WRONG] == []
