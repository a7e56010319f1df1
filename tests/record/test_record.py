"""What is kept of a run, and what recording leaves alone."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from flor.query.runs import Run, run


def record(folder: Path, text: str, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Record a script there."""
    (folder / "train.py").write_text(text)
    return subprocess.run(
        [sys.executable, "-m", "flor", "record", *options, "train.py", "--lr", "0.1"],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.fixture
def recorded(tmp_path: Path) -> Run:
    """A small run."""
    text = "import helper\nfor i in range(3):\n    print('i', helper.twice(i))\n"
    (tmp_path / "helper.py").write_text("def twice(x):\n    return sum([x, x])\n")
    done = record(tmp_path, text, "--name", "first", "--tag", "who=me", SECRET_TOKEN="hunter2", OMP_NUM_THREADS="1")
    assert done.returncode == 0, done.stderr
    return run("first", tmp_path / ".flor")


def test_the_sources_are_kept_as_they_were_executed(recorded: Run) -> None:
    assert recorded.sources.keys() == {"train.py", "helper.py"}
    assert b"helper.twice(i)" in recorded.sources["train.py"]


def test_facts_of_the_world_are_kept_and_secrets_are_not(recorded: Run) -> None:
    facts = recorded.facts
    assert facts["argv"] == ["train.py", "--lr", "0.1"]
    assert facts["tags"] == ["who=me"]
    assert facts["variables"]["OMP_NUM_THREADS"] == "1"
    journals = b"".join(path.read_bytes() for path in recorded.folder.fragments())
    assert b"hunter2" not in journals


def test_loops_and_the_functions_that_they_entered_are_counted(recorded: Run) -> None:
    loop = recorded.ended["loops"]["train.py::<module>#0"]
    assert (loop["executions"], loop["iterations"]) == (1, 3)
    assert loop["functions"] == ["helper.py::twice"]


def test_lines_have_their_position_and_statement(recorded: Run) -> None:
    rows = [row for row in recorded.logs() if row.channel == "stdout"]
    assert [row.value for row in rows] == ["i 0", "i 2", "i 4"]
    assert [row.position for row in rows] == ["main/i=0", "main/i=1", "main/i=2"]
    assert {row.statement for row in rows} == {"train.py:3"}


def test_rows_become_a_data_frame_with_loops_as_columns(recorded: Run) -> None:
    frame = recorded.df("stdout")
    assert list(frame["i"]) == [0, 1, 2]
    assert list(frame["value"]) == ["i 0", "i 2", "i 4"]


def test_the_store_is_private_and_ignored_by_git(recorded: Run) -> None:
    root = recorded.folder.path.parent.parent
    assert (root / ".gitignore").read_text() == "*\n"
    for path in [root, *root.rglob("*")]:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path


def test_a_script_that_edits_itself_is_kept_as_it_was(tmp_path: Path) -> None:
    record(tmp_path, "open('train.py', 'w').write('other')\nprint(1)\n", "--name", "first")
    assert run("first", tmp_path / ".flor").sources["train.py"].startswith(b"open(")


def test_the_exit_code_and_traceback_are_kept(tmp_path: Path) -> None:
    done = record(tmp_path, "def f():\n    raise ValueError('no')\nf()\n", "--name", "first")
    assert done.returncode == 1
    ended = run("first", tmp_path / ".flor").ended
    assert (ended["status"], ended["exit"]) == ("failed", 1)
    assert ended["traceback"].count("File ") == 2
    assert "ValueError: no" in ended["traceback"]


def test_importing_flor_imports_no_torch_and_no_numpy() -> None:
    code = "import flor, sys; print(sorted({'torch', 'numpy', 'click', 'rich', 'pickle'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_a_full_disk_later_is_one_warning_and_training_goes_on(tmp_path: Path) -> None:
    text = (
        "import resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))\n"
        "import flor\n"
        "for i in range(3000):\n    flor.log('x', i)\n"
        "print('done')\n"
    )
    done = record(tmp_path, text)
    assert (done.stdout, done.returncode) == ("done\n", 0)
    assert done.stderr.count("[disk-failed]") == 2  # once when it happens, once at the end
