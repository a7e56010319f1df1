"""Files that a run has written hold, after a jump, what they held at the checkpoint; else reading them is told."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from xxhash import xxh3_128_hexdigest

from flor.launch import written as module
from flor.launch.overlay import Overlay
from flor.launch.rewind import Rewinder
from flor.launch.written import SMALL, WrittenFiles
from flor.model.checkpoints import FileFact, FilesNow
from flor.model.records import Note


@pytest.fixture
def files() -> WrittenFiles:
    return WrittenFiles(lambda note: None)


def test_the_content_of_a_small_file_is_kept(files: WrittenFiles, tmp_path: Path) -> None:
    path = tmp_path / "count.txt"
    files.on_write(str(path), "create")
    path.write_text("8")
    now = files.now()
    assert now.contents == {now.facts[str(path)][2]: b"8"}
    path.unlink()
    assert files.now().contents == {}
    assert files.now().facts[str(path)][0] == -1


def test_the_content_of_a_large_file_is_not_kept(files: WrittenFiles, tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    files.on_write(str(path), "create")
    path.write_bytes(bytes(SMALL + 1))
    now = files.now()
    assert now.contents == {} and now.facts[str(path)][2]


def test_no_more_is_kept_than_the_bound(files: WrittenFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SMALL_IN_ALL", 25)
    for number in range(5):
        path = tmp_path / f"{number}.txt"
        files.on_write(str(path), "create")
        path.write_text(str(number) * 10)
    assert sum(map(len, files.now().contents.values())) == 20


def test_a_change_of_the_same_size_and_time_is_seen(files: WrittenFiles, tmp_path: Path) -> None:
    path = tmp_path / "count.txt"
    files.on_write(str(path), "create")
    path.write_text("1")
    found = os.stat(path)
    before = files.now().facts[str(path)]
    path.write_text("2")
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))  # as within one tick of the file system's clock
    after = files.now().facts[str(path)]
    assert (before[:2], before[2] != after[2]) == (after[:2], True)


def test_a_file_that_is_old_is_not_read_again(files: WrittenFiles, tmp_path: Path) -> None:
    path = tmp_path / "count.txt"
    files.on_write(str(path), "create")
    path.write_text("1")
    os.utime(path, ns=(10**18, 10**18))
    before = files.now()
    path.write_text("2")
    os.utime(path, ns=(10**18, 10**18))  # nobody does that by accident
    assert files.now() == before


class Rewound:
    """An overlay over a folder in which a run has left its files, and what was noted of it."""

    def __init__(self, folder: Path, overlay: Overlay) -> None:
        self.folder, self.notes = folder, list[Note]()
        self.rewinder = Rewinder(overlay, self.notes.append)

    def jump(self, name: str, content: bytes, *, kept: bool = False, made: str = "create") -> Path:
        """Begin the replay, and restore a checkpoint at which a file held this."""
        path = self.folder / name
        fact: FileFact = (len(content), 10**18, xxh3_128_hexdigest(content))
        self.rewinder.begin({str(path): made})
        self.rewinder.restore(FilesNow({str(path): fact}, {fact[2]: content} if kept else {}))
        return path

    @property
    def lost(self) -> list[str]:
        return [os.path.basename(note.values["path"]) for note in self.notes if note.kind == "lost file"]


@pytest.fixture
def rewound(tmp_path: Path) -> Iterator[Rewound]:
    (tmp_path / "here").mkdir()
    with Overlay(tmp_path / "overlay") as overlay:
        yield Rewound(tmp_path / "here", overlay)


def test_a_kept_content_is_put_in_place(rewound: Rewound) -> None:
    (rewound.folder / "count.txt").write_text("0")  # by the replay itself, before it jumps
    path = rewound.jump("count.txt", b"8", kept=True)
    assert (path.read_text(), rewound.lost) == ("8", [])
    assert path.stat().st_mtime_ns == 10**18


def test_a_content_that_nobody_has_is_told_when_it_is_read(rewound: Rewound) -> None:
    (rewound.folder / "big.bin").write_bytes(b"0" * 10)
    path = rewound.jump("big.bin", b"1" * 9)
    assert path.exists() and path.stat().st_size == 9
    assert rewound.lost == []
    path.read_bytes()
    assert rewound.lost == ["big.bin"]


def test_it_is_told_also_under_another_name(rewound: Rewound) -> None:
    path = rewound.jump("last.bin", b"1" * 9)
    path.rename(path.with_name("previous.bin"))
    path.with_name("previous.bin").read_bytes()
    assert rewound.lost == ["last.bin"]


def test_a_file_that_is_written_anew_is_no_longer_lost(rewound: Rewound) -> None:
    path = rewound.jump("big.bin", b"1" * 9)
    path.write_bytes(b"new")
    assert path.read_bytes() == b"new"
    with path.open("ab") as file:
        file.write(b"er")
    assert (path.read_bytes(), rewound.lost) == (b"newer", [])


def test_a_file_that_is_added_to_stays_lost(rewound: Rewound) -> None:
    path = rewound.jump("big.bin", b"1" * 9)
    with path.open("ab") as file:
        file.write(b"more")
    assert rewound.lost == []
    path.read_bytes()
    assert rewound.lost == ["big.bin"]


def test_reading_before_the_jump_does_not_hide_reading_after_it(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "old.txt").write_text("as the run left it")
    with Overlay(tmp_path / "overlay") as overlay:
        rewound = Rewound(tmp_path / "here", overlay)
        rewound.rewinder.begin({str(tmp_path / "here" / "old.txt"): "overwrite"})
        (tmp_path / "here" / "old.txt").read_text()
        rewound.rewinder.restore(FilesNow())
        (tmp_path / "here" / "old.txt").read_text()
        assert rewound.lost == ["old.txt", "old.txt"]
