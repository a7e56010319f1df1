"""A recorded run's files are heard of, and nothing else changes."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from flor.launch.filewatch import FileWatch


class Heard:
    """A listener that remembers."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.writes: list[tuple[str, str]] = []
        self.reads: list[str] = []

    def write(self, path: str, how: str) -> None:
        self.writes.append((os.path.relpath(path, self.home), how))

    def read(self, path: str) -> None:
        self.reads.append(os.path.relpath(path, self.home))


@pytest.fixture
def heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Heard:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.txt").write_text("old")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/deep").write_text("deep")
    (tmp_path / "link").symlink_to("runs")
    return Heard(tmp_path)


@pytest.fixture
def watch(heard: Heard, tmp_path: Path) -> Iterator[FileWatch]:
    watch = FileWatch(heard.write, heard.read, ignore=[tmp_path / ".flor"])
    watch.start()
    yield watch
    watch.stop()


def test_a_new_file_is_created_and_an_old_one_overwritten(watch: FileWatch, heard: Heard) -> None:
    Path("new.txt").write_text("new")
    Path("old.txt").write_text("new")
    with open("new.txt", "a") as file:
        file.write("more")
    with open("link/deep", "r+") as file:
        file.write("x")
    assert heard.writes == [
        ("new.txt", "create"),
        ("old.txt", "overwrite"),
        ("new.txt", "update"),
        ("runs/deep", "update"),
    ]


def test_each_path_is_told_once_a_kind_until_reset(watch: FileWatch, heard: Heard) -> None:
    for _ in range(3):
        Path("old.txt").write_text("x")
        Path("old.txt").read_text()
    assert (heard.writes, heard.reads) == ([("old.txt", "overwrite")], ["old.txt"])
    watch.reset()
    Path("old.txt").write_text("x")
    Path(os.path.abspath("old.txt")).read_text()
    assert (heard.writes, heard.reads) == ([("old.txt", "overwrite")] * 2, ["old.txt"] * 2)


def test_renames_removals_and_folders_are_told(watch: FileWatch, heard: Heard) -> None:
    os.rename("old.txt", "prev.txt")
    os.makedirs("a/b")
    os.symlink("prev.txt", "soft")
    shutil.rmtree("runs")
    assert heard.writes == [
        ("old.txt", "remove"),
        ("prev.txt", "create"),
        ("a", "mkdir"),
        ("a/b", "mkdir"),
        ("soft", "create"),
        ("runs/deep", "remove"),
        ("runs", "remove"),
    ]


def test_a_database_is_told(watch: FileWatch, heard: Heard) -> None:
    sqlite3.connect("x.db").close()
    sqlite3.connect(":memory:").close()
    assert heard.writes == [("x.db", "create")]


def test_devices_python_and_ignored_folders_are_not_told(watch: FileWatch, heard: Heard) -> None:
    os.makedirs(".flor/runs")
    Path(".flor/runs/journal").write_text("x")
    with open(os.devnull, "w") as file:
        file.write("x")
    Path(pytest.__file__).read_bytes()
    Path(os.__file__).read_bytes()
    assert heard.writes == [(".flor", "mkdir")]
    assert heard.reads == []


def test_a_listener_that_raises_or_writes_does_no_harm(heard: Heard) -> None:
    def listener(path: str, how: str) -> None:
        Path("journal").write_text(path)
        raise RuntimeError("ours")

    watch = FileWatch(listener)
    watch.start()
    Path("new.txt").write_text("new")
    watch.stop()
    assert Path("journal").read_text().endswith("new.txt")
    assert Path("new.txt").read_text() == "new"


def test_after_stop_nothing_is_told(watch: FileWatch, heard: Heard) -> None:
    watch.stop()
    Path("new.txt").write_text("new")
    assert heard.writes == []
    watch.start()
    Path("old.txt").write_text("new")
    assert heard.writes == [("old.txt", "overwrite")]


def test_what_torch_writes_in_cpp_is_told(watch: FileWatch, heard: Heard) -> None:
    native = torch.save
    watch.patch_torch(torch)
    torch.save({"a": 1}, "model.pt")
    torch.save({"a": 1}, Path("model.pt"))
    assert torch.load("model.pt") == {"a": 1}
    watch.stop()
    assert torch.save is native
    assert heard.writes == [("model.pt", "create"), ("model.pt", "overwrite")]
    assert heard.reads == ["model.pt"]


def test_other_audit_events_are_let_go(watch: FileWatch, heard: Heard) -> None:
    sys.audit("flor.test", "x")
    sys.audit("open", 3, "w", os.O_WRONLY)
    sys.audit("open", object(), "w", os.O_WRONLY)
    assert heard.writes == []
