"""A script whose C code writes files is replayed behind each wall: exact, refused by name, or only with --yes."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.replay.conftest import Done, Workshop

TRAIN = """
import ctypes, os, time
libc = ctypes.CDLL(None)

def save(epoch):
    file = libc.open(b"native.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    if file < 0:
        raise OSError(13, "Permission denied", "native.txt")
    libc.write(file, b"%d" % epoch, 1)
    libc.close(file)

save(0)
for epoch in range(4):
    time.sleep(0.05)
    save(epoch)
    print("probe", epoch, open("native.txt").read())  #@
    print("epoch", epoch)
"""


def replayed(workshop: Workshop, *words: str) -> Done:
    """The replay of the program; the user has changed its file after the run."""
    workshop.program(TRAIN, probed=False)
    recorded = workshop.flor("record", "--overhead", "10", "train.py")
    assert recorded.code == 0, recorded.stderr
    (workshop.folder / "native.txt").write_text("of mine")
    workshop.program(TRAIN, probed=True)
    return workshop.flor("replay", "-j", "1", *words)


def test_the_overlay_keeps_it_apart(workshop: Workshop) -> None:
    done = replayed(workshop, "--wall", "overlay")
    assert (done.stdout.splitlines(), done.code) == ([f"probe {epoch} {epoch}" for epoch in range(4)], 0), done.stderr
    assert (workshop.folder / "native.txt").read_text() == "of mine"


def test_landlock_refuses_it_by_name(workshop: Workshop) -> None:
    done = replayed(workshop, "--wall", "landlock")
    assert done.code == 1
    assert "flor's wall (landlock) refused to let C code or another program write to native.txt" in done.stderr
    assert (workshop.folder / "native.txt").read_text() == "of mine"


def test_the_python_wall_asks_for_yes(workshop: Workshop) -> None:
    done = replayed(workshop, "--wall", "python")
    assert (done.code, done.stdout) == (1, "")
    assert str(workshop.folder / "native.txt") in done.stderr
    assert done.stderr.rstrip().endswith("[files-unsafe]")
    assert (workshop.folder / "native.txt").read_text() == "of mine"
    agreed = workshop.flor("replay", "-j", "1", "--wall", "python", "--yes")
    assert agreed.stderr.count("writes of C code and of other programs are not seen") == 1


@pytest.mark.parametrize("wall", ["overlay", "landlock", "python"])
def test_verbose_says_which_wall_it_is(workshop: Workshop, wall: str) -> None:
    workshop.program("for i in range(2):\n    print(i)  #@\n    x = i\n", probed=False)
    workshop.flor("record", "train.py")
    workshop.program("for i in range(2):\n    print(i)  #@\n    x = i\n", probed=True)
    assert f"wall {wall}: " in workshop.flor("replay", "--verbose", "--wall", wall).stderr


IN_MEMORY = """
import time
for epoch in range(3):
    for i in range(3):
        time.sleep(0.02)
    with open("out.txt", "a") as file:
        file.write(f"{epoch} ")
    print("size", len(open("out.txt").read()))  #@
"""


@pytest.mark.parametrize("wall", ["overlay", "landlock", "python"])
def test_files_in_a_folder_of_shared_memory_are_kept_apart(wall: str) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        workshop = Workshop(Path(name))
        workshop.program(IN_MEMORY, probed=False)
        assert workshop.flor("record", "--overhead", "10", "train.py").code == 0
        (workshop.folder / "out.txt").write_text("by hand")
        workshop.program(IN_MEMORY, probed=True)
        done = workshop.flor("replay", "-j", "1", "--wall", wall)
        assert (done.stdout, done.code) == ("size 2\nsize 4\nsize 6\n", 0), done.stderr
        assert (workshop.folder / "out.txt").read_text() == "by hand"
