"""What makes no sense is said in one clear sentence with its slug, and an exit code that scripts can go by."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

FLOR = Path(sys.executable).with_name("flor")
USAGE, FAILED = 2, 1


def flor(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([FLOR, *words], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text("for i in range(2):\n    print(i)\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "broken.py").write_text("x = 1\nfor i in range(3)\n    print(i)\n")
    return tmp_path


ROWS = [
    (["record", "trian.py"], USAGE, "no-such-script", "Did you mean train.py?"),
    (["record", "zzz"], USAGE, "no-such-script", "Give the path of a Python file."),
    (["record", "sub"], USAGE, "no-such-script", "sub is a folder without a __main__.py."),
    (["record", "sub/a.ipynb"], USAGE, "no-such-script", "sub/a.ipynb is a notebook"),
    (["record"], USAGE, "usage", "No script was given."),
    (["record", "-m", "nowhere.at_all"], USAGE, "no-such-script", "nowhere.at_all"),
    (["record", "-m", "sub"], USAGE, "no-such-script", "A package needs a __main__.py"),
    (["record", "--name", "../x", "train.py"], USAGE, "bad-name", "'../x' can't be the name of a run."),
    (["record", "--name", "a\x1b[31mb", "train.py"], USAGE, "bad-name", r"'a\x1b[31mb' can't be"),
    (["record", "--name", "", "train.py"], USAGE, "bad-name", "'' can't be"),
    (["record", "--tag", "lr", "train.py"], USAGE, "usage", "--tag is written K=V"),
    (["record", "--store", "train.py", "train.py"], FAILED, "store-unwritable", "it is a file, not a folder"),
    (["record", "--store", "sub", "train.py"], FAILED, "store-unwritable", "the folder has other things in it"),
    (["show", "../x"], USAGE, "bad-name", "'../x' can't be"),
    (["show", "brave-otter"], USAGE, "no-such-run", "There is no run called 'brave-otter'."),
    (["logs"], USAGE, "no-such-run", "There is no run here."),
    (["replay"], USAGE, "no-such-run", "There is no run here."),
    (["replay", "--epochs", "many"], USAGE, "no-such-run", "There is no run here."),
    (["checkout", "brave-otter", "there"], USAGE, "no-such-run", "There is no run called"),
    (["show", "--instrumented", "zzz.py"], USAGE, "no-such-script", "zzz.py can't be read"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "code", "slug", "says"),
    ROWS,
    ids=[f"{' '.join(row[0])}".encode("unicode_escape").decode() for row in ROWS],
)
def test_bad_input_is_one_sentence(folder: Path, words: list[str], code: int, slug: str, says: str) -> None:
    (folder / "sub" / "file").write_text("")
    (folder / "sub" / "a.ipynb").write_text("{}")
    done = flor(folder, *words)
    assert done.returncode == code
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("flor: ")
    assert line.endswith(f"[{slug}]")
    assert says in line
    assert line.isprintable()


@pytest.mark.parametrize(
    "words",
    [
        ["nonsense"],
        ["record", "--nonsense", "train.py"],
        ["record", "--overhead", "x", "train.py"],
        ["show", "--loops", "a", "b"],
    ],
)
def test_words_that_the_parser_does_not_know_are_usage(folder: Path, words: list[str]) -> None:
    done = flor(folder, *words)
    assert (done.returncode, done.stdout) == (USAGE, "")
    assert "Usage: flor" in done.stderr


def test_a_syntax_error_reads_as_pythons(folder: Path) -> None:
    plain = subprocess.run([sys.executable, "broken.py"], cwd=folder, capture_output=True, text=True)
    done = flor(folder, "record", "broken.py")
    assert done.returncode == plain.returncode == 1
    assert "".join(line for line in done.stderr.splitlines(True) if not line.startswith("flor: ")) == plain.stderr


def test_a_store_of_a_newer_format_is_left_alone(folder: Path) -> None:
    (folder / ".flor").mkdir()
    (folder / ".flor" / "FORMAT").write_text(json.dumps({"magic": "flor", "version": 99}))
    for words in (["record", "train.py"], ["runs"], ["logs"]):
        done = flor(folder, *words)
        assert (done.returncode, done.stdout) == (FAILED, "")
        assert done.stderr.rstrip().endswith("[newer-format]")
    assert [path.name for path in (folder / ".flor").iterdir()] == ["FORMAT"]


def test_a_store_that_is_none_is_said_to_be_damaged(folder: Path) -> None:
    (folder / ".flor").mkdir()
    (folder / ".flor" / "FORMAT").write_text("hello")
    done = flor(folder, "runs")
    assert done.returncode == FAILED
    assert done.stderr.rstrip().endswith("[damaged]")


def test_a_name_that_is_taken_is_not_taken_again(folder: Path) -> None:
    assert flor(folder, "record", "--name", "first", "train.py").returncode == 0
    again = flor(folder, "record", "--name", "first", "train.py")
    assert (again.returncode, again.stdout) == (USAGE, "")
    assert again.stderr.rstrip().endswith("[name-taken]")
    near = flor(folder, "show", "frist")
    assert "Did you mean 'first'?" in near.stderr


def test_a_refused_start_leaves_no_run_behind(folder: Path) -> None:
    flor(folder, "record", "zzz")
    flor(folder, "record", "--tag", "x", "train.py")
    assert "no runs here yet" in flor(folder, "runs").stdout
