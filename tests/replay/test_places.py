"""Where the project's files are: beside the script's folder, in a copy, or moved away."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from flor.launch.wall.choice import Wall, best_wall

TRAINER = """\
import os


def fit(n):
    total = 0
    for epoch in range(n):
        for step in range(3):
            total += step + epoch
        with open("log.txt", "a") as file:
            file.write(f"{epoch}\\n")
        print("epoch", epoch, os.getcwd(), os.path.getsize("log.txt"))
"""
TRAIN = """\
import os, sys
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../lib"))
from tinygpt.trainer import fit
path = os.path.abspath("log.txt")
fit(3)
print(path)
"""
WANTED = {"total": "total 3\ntotal 9\ntotal 18\n", "copied": "copied 3\ncopied 9\ncopied 18\n"}

needs_overlay = pytest.mark.skipif(
    best_wall(Path("/tmp")) is not Wall.OVERLAY, reason="this machine allows no overlays in a namespace"
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A recorded run whose training loop is in a module beside the script's folder, as `home/projects/demo/.flor`."""
    home = tmp_path / "home"
    (home / "lib/tinygpt").mkdir(parents=True)
    (home / "projects/demo").mkdir(parents=True)
    (home / "lib/tinygpt/__init__.py").touch()
    (home / "lib/tinygpt/trainer.py").write_text(TRAINER)
    (home / "projects/demo/train.py").write_text(TRAIN)
    done = flor(home, "record", "train.py")
    assert done.returncode == 0, done.stderr
    return home


def flor(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command of ours in the project's folder; the system's folder for temporary files is another one."""
    temporary = home.parent / "tmp"
    temporary.mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, "-m", "flor", *words],
        cwd=home / "projects/demo",
        env={**os.environ, "TMPDIR": str(temporary), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )


def add_probe(home: Path, name: str) -> None:
    text = TRAINER.replace("        with open", f'        print("{name}", total)\n        with open')
    (home / "lib/tinygpt/trainer.py").write_text(text)


def test_a_log_statement_in_a_module_beside_the_scripts_folder_is_a_probe(home: Path) -> None:
    add_probe(home, "total")
    done = flor(home, "replay")
    assert (done.stdout, done.returncode) == (WANTED["total"], 0), done.stderr


@needs_overlay
@pytest.mark.parametrize("then", ["is there with another probe", "is gone"])
def test_a_copy_replays_with_the_files_that_are_beside_it(home: Path, then: str) -> None:
    copy = home.parent / "copy"
    shutil.copytree(home, copy)
    add_probe(home, "total")
    add_probe(copy, "copied")
    if then == "is gone":
        home.rename(home.parent / "away")
    before = (copy / "projects/demo/log.txt").read_text()
    done = flor(copy, "replay")
    assert (done.stdout, done.returncode) == (WANTED["copied"], 0), done.stderr
    assert (copy / "projects/demo/log.txt").read_text() == before
