"""The cache of the run list."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from flor.model.records import Channel, Ended, Facts, LogRecord, Statement, Tag
from flor.store import index as index_module
from flor.store.digest import FragmentDigest, digest_journal
from flor.store.frames import Opening, opening_bytes
from flor.store.index import Index
from flor.store.journal import JournalWriter
from flor.store.layout import Layout
from flor.store.run import RunFolder, create_run


def begin(layout: Layout, name: str, rank: int = 0, started: float = 100.0) -> JournalWriter:
    folder = layout.run(name)
    run = create_run(layout, name) if not folder.exists() else RunFolder(name, folder)
    writer = run.fragment(rank, 1)
    writer.append(Facts({"script": "train.py", "argv": ["train.py", "--lr", "1"], "started": started}))
    return writer


def log(writer: JournalWriter, time: float) -> None:
    writer.append(LogRecord(Channel.FLOR, "loss", Tag.NONE, b"", (), Statement("train.py", 1, "main"), time))


def test_a_run_that_ended_is_told_in_full(layout: Layout) -> None:
    writer = begin(layout, "brave-otter")
    log(writer, 101.0)
    writer.seal(Ended({"exit": 3, "seconds": 7.5}))
    (run,) = Index(layout).runs()
    assert (run.name, run.status, run.started, run.seconds, run.exit) == ("brave-otter", "sealed", 100.0, 7.5, 3)
    assert (run.script, run.argv, run.logs, run.fragments, run.damage) == (
        "train.py",
        ("train.py", "--lr", "1"),
        1,
        1,
        0,
    )
    assert run.bytes == writer.path.stat().st_size


def test_a_run_that_was_killed_is_as_long_as_its_logs(layout: Layout) -> None:
    writer = begin(layout, "killed")
    log(writer, 104.0)
    assert Index(layout).runs()[0].status == "recording"
    writer.close()
    (run,) = Index(layout).runs()  # not a byte has changed, and yet it is another status
    assert (run.status, run.seconds, run.exit) == ("killed", 4.0, None)


def test_the_least_finished_rank_decides(layout: Layout) -> None:
    begin(layout, "r", 0).seal(Ended({"exit": 0}))
    begin(layout, "r", 1).close()
    (run,) = Index(layout).runs()
    assert (run.status, run.exit, run.fragments) == ("killed", 0, 2)


def test_one_that_ended_and_was_not_renamed_is_not_called_killed(layout: Layout) -> None:
    writer = begin(layout, "r")
    writer.append(Ended({"exit": 0}))
    writer.close()
    assert Index(layout).runs()[0].status == "sealed"


def test_only_journals_that_changed_are_read_again(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    begin(layout, "old").seal(Ended({}))
    growing = begin(layout, "new")
    before = Index(layout).runs()
    read: list[str] = []
    real = digest_journal

    def noted(path: Path) -> FragmentDigest:
        read.append(path.parent.name)
        return real(path)

    monkeypatch.setattr(index_module, "digest_journal", noted)
    assert Index(layout).runs() == before and read == []
    log(growing, 101.0)
    assert [run.logs for run in Index(layout).runs()] == [0, 1]
    assert read == ["new"]
    growing.close()


def test_a_deleted_or_damaged_index_is_rebuilt_silently(layout: Layout) -> None:
    begin(layout, "r").seal(Ended({}))
    before = Index(layout).runs()
    size = layout.index.stat().st_size
    layout.index.unlink()
    assert Index(layout).runs() == before
    for damage in (b"", b"junk" * 1000, layout.index.read_bytes()[: size // 2], bytes(size)):
        layout.index.write_bytes(damage)
        assert Index(layout).runs() == before
    with sqlite3.connect(layout.index) as table:
        table.execute("UPDATE fragments SET digest = '{}'")
    table.close()
    assert Index(layout).runs() == before


def test_an_index_that_cannot_be_written_is_done_without(layout: Layout) -> None:
    begin(layout, "r").seal(Ended({}))
    layout.index.mkdir()
    assert [run.name for run in Index(layout).runs()] == ["r"]


def test_a_journal_of_a_later_version_does_not_hide_the_rest(layout: Layout) -> None:
    begin(layout, "r").seal(Ended({}))
    newer = begin(layout, "newer")
    newer.close()
    newer.path.write_bytes(opening_bytes(Opening(1, 1, version=3)))
    assert {run.name: run.damage for run in Index(layout).runs()} == {"r": 0, "newer": 1}


def test_the_latest_run_is_the_one_that_began_last(layout: Layout) -> None:
    assert Index(layout).latest() is None
    for name, started in (("b", 10.0), ("a", 20.0), ("c", 15.0)):
        begin(layout, name, started=started).close()
    latest = Index(layout).latest()
    assert latest is not None and latest.name == "a"


def test_a_store_that_is_not_there_has_no_index_either(tmp_path: Path) -> None:
    assert Index(Layout(tmp_path / ".flor")).runs() == []
    assert list(tmp_path.iterdir()) == []
