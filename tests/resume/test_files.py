"""A resumed run destroys nothing: files that C code or other programs write in the script's beginning are kept."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.resume.test_resume import Bench, joined

HDF5 = """
    import time, random
    import h5py
    import numpy as np

    def start():
        with h5py.File("results.h5", "w") as file:
            file.attrs["made"] = 1
        time.sleep(PAUSE)

    def save(epoch, total):
        with h5py.File("results.h5", "a") as file:
            file[f"epoch{epoch}"] = np.full(20_000, total)

    random.seed(1)
    start()
    total = 0.0
    for epoch in range(6):
        for batch in range(4):
            total += random.random()
            time.sleep(0.02)
        save(epoch, total)
        print("epoch", epoch, total, flush=True)
"""

PROGRAMS = """
    import os, time, random
    random.seed(1)
    os.system("echo begun > info.txt; rm -f old.txt")
    os.system("(while true; do echo beat; sleep 0.1; done) >> beat.txt 2>&1 < /dev/null & echo $! >> all.txt")
    total = 0.0
    for epoch in range(6):
        for batch in range(4):
            total += random.random()
            time.sleep(0.02)
        os.system(f"echo {total} >> sums.txt")
        print("epoch", epoch, total, flush=True)
"""


def datasets(path: Path) -> dict[str, float]:
    """The first number of each data set of a file."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(path) as file:
        return {name: float(file[name][0]) for name in file}


def everything(folder: Path) -> dict[str, bytes]:
    """The bytes of all files outside of the store."""
    found = (path for path in sorted(folder.rglob("*")) if ".flor" not in path.parts and path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@pytest.mark.parametrize("wall", ["overlay", "python"])
def test_a_file_that_c_code_truncates_at_the_beginning_goes_on(tmp_path: Path, wall: str) -> None:
    bench = Bench(tmp_path, HDF5.replace("PAUSE", "0"))
    whole, first = bench.whole(), bench.killed("epoch 3")
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "pieces" / "results.h5", "a") as file:
        file["mine"] = [7.0]
    second = bench.flor("resume", "--wall", wall)
    assert joined(first, second.stdout, whole), second.stderr
    wanted = datasets(tmp_path / "whole" / "results.h5")
    assert datasets(tmp_path / "pieces" / "results.h5") == {**wanted, "mine": 7.0}


def test_a_resume_that_is_killed_in_the_beginning_loses_nothing(tmp_path: Path) -> None:
    bench = Bench(tmp_path, HDF5.replace("PAUSE", "0.4"))
    whole, first = bench.whole(), bench.killed("epoch 3")
    results = tmp_path / "pieces" / "results.h5"
    before = results.read_bytes()
    command = [sys.executable, "-m", "flor", "resume"]
    process = subprocess.Popen(command, cwd=tmp_path / "pieces", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and results.exists() and results.stat().st_size == len(before):
        time.sleep(0.002)
    process.kill()
    process.wait()
    assert not results.exists() or results.read_bytes() != before, "it was not killed in time"
    (kept,) = (tmp_path / "pieces" / ".flor").glob("runs/*/aside/**/results.h5")
    assert kept.read_bytes() == before
    second = bench.flor("resume")
    assert "1 file is put back as it was" in second.stderr
    assert joined(first, second.stdout, whole), second.stderr
    assert datasets(results) == datasets(tmp_path / "whole" / "results.h5")


def test_a_file_that_a_program_holds_open_is_set_aside_and_told(tmp_path: Path) -> None:
    bench = Bench(tmp_path, PROGRAMS)
    folder = tmp_path / "pieces"
    folder.mkdir()
    (folder / "old.txt").write_text("of mine")
    try:
        first = bench.killed("epoch 3")
        second = bench.flor("resume")
        assert "beat.txt is held open by a library or another program" in second.stderr
        printed = (first + second.stdout).splitlines()
        assert len([line for line in printed if line.startswith("epoch 5")]) == 1
        assert len((folder / "sums.txt").read_text().splitlines()) == 6
        (aside,) = (folder / ".flor").glob("runs/*/aside")
        assert (aside / str(folder / "beat.txt")[1:]).read_text().startswith("beat")
    finally:
        for number in (folder / "all.txt").read_text().split():
            subprocess.run(["kill", number], check=False, stderr=subprocess.DEVNULL)


def test_a_beginning_that_raises_changes_nothing(tmp_path: Path) -> None:
    bench = Bench(
        tmp_path,
        HDF5.replace("PAUSE", "os.path.getsize('needed.txt') * 0").replace("time, random", "time, random, os", 1),
    )
    (tmp_path / "pieces").mkdir()
    (tmp_path / "pieces" / "needed.txt").write_text("data")
    bench.killed("epoch 3")
    os.rename(tmp_path / "pieces" / "needed.txt", tmp_path / "elsewhere.txt")
    before = everything(tmp_path / "pieces")
    refused = bench.flor("resume")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "FileNotFoundError" in refused.stderr
    assert "raised before it came to the checkpoint" in refused.stderr
    assert everything(tmp_path / "pieces") == before
    assert len(list((tmp_path / "pieces" / ".flor" / "runs").iterdir())) == 1
    assert not (tmp_path / "pieces" / ".flor" / "rehearsals").exists()


SHAPES = """
    import os, random, time
    from pathlib import Path
    random.seed(1)
    Path("file").write_text("x")
    os.mkdir("kept")
    total = 0.0
    for epoch in range(7):
        for batch in range(4):
            total += random.random()
            time.sleep(0.02)
        os.chmod("file", 0o600 + epoch)
        os.mkdir(f"folder{epoch}")
        if epoch > 1:
            os.rmdir(f"folder{epoch - 2}")
        Path(f"kept/{epoch}").write_text(str(total))
        if os.path.islink("last"):
            os.remove("last")
        os.symlink(f"kept/{epoch}", "last")
        if os.path.exists("name"):
            os.remove("name")
        os.link(f"kept/{epoch}", "name")
        print("epoch", epoch, total, flush=True)
    print(sorted(os.listdir("kept")), os.readlink("last"), Path("name").read_text(), os.stat("name").st_nlink)
    print(oct(os.stat("file").st_mode), sorted(path for path in os.listdir() if path.startswith("folder")))
"""


def test_folders_links_and_permissions_go_on_from_an_earlier_checkpoint(tmp_path: Path) -> None:
    bench = Bench(tmp_path, SHAPES)
    whole, first = bench.whole(), bench.killed("epoch 4")
    packs = sorted((tmp_path / "pieces" / ".flor").glob("runs/*/packs/*.safetensors"))
    for last in packs[-4:]:  # so that folders and files are there which the run made after the checkpoint
        data = last.read_bytes()
        last.write_bytes(data[: len(data) // 2] + bytes(len(data) - len(data) // 2))
    second = bench.flor("resume")
    assert joined(first, second.stdout, whole), second.stderr
    assert len(second.stdout.splitlines()) > 4
