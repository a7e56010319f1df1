"""Checking a store."""

from __future__ import annotations

from pathlib import Path

import pytest

from flor.model.records import Ended, Note
from flor.store.fsck import check_store
from flor.store.layout import Layout
from flor.store.packs import PackEntry, write_pack
from flor.store.run import RunFolder, create_run


@pytest.fixture
def run(layout: Layout) -> RunFolder:
    run = create_run(layout, "r")
    writer = run.fragment(0, 1)
    writer.append(Note("hello", {"text": "world"}))
    writer.seal(Ended({}))
    write_pack(run.packs / "0.safetensors", [PackEntry("w", "U8", (3,), b"abc")])
    return run


def flip(path: Path, text: bytes) -> None:
    data = bytearray(path.read_bytes())
    data[data.index(text)] ^= 1
    path.write_bytes(bytes(data))


def test_a_store_as_it_was_written_has_no_findings(layout: Layout, run: RunFolder) -> None:
    assert check_store(layout) == []


def test_a_damaged_journal_is_found_with_its_place(layout: Layout, run: RunFolder) -> None:
    flip(run.path / "0-1.journal", b"world")
    (finding,) = check_store(layout)
    assert (finding.path, finding.severity, finding.offset) == (run.path / "0-1.journal", "damage", 80)


def test_a_damaged_pack_is_found_with_its_entry(layout: Layout, run: RunFolder) -> None:
    flip(run.packs / "0.safetensors", b"abc")
    (finding,) = check_store(layout)
    assert finding.severity == "damage" and "'w'" in finding.what


def test_a_damaged_header_of_a_pack_is_found(layout: Layout, run: RunFolder) -> None:
    flip(run.packs / "0.safetensors", b"U8")
    assert [finding.severity for finding in check_store(layout)] == ["damage"]


def test_a_torn_tail_and_leftovers_are_only_noted(layout: Layout, run: RunFolder) -> None:
    writer = run.fragment(1, 2)
    writer.append(Note("x"))
    writer.close()
    writer.path.write_bytes(writer.path.read_bytes()[:-3])
    (run.packs / "1.safetensors.7.tmp").write_bytes(b"half")
    (layout.root / "FORMAT.7.tmp").write_bytes(b"")
    create_run(layout, "empty")
    (layout.runs / "NotARun").mkdir()
    findings = check_store(layout)
    assert {finding.severity for finding in findings} == {"note"}
    assert {finding.path.name for finding in findings} == {
        "1-2.live",
        "1.safetensors.7.tmp",
        "FORMAT.7.tmp",
        "empty",
        "NotARun",
    }


def test_a_store_of_a_later_version_is_one_finding(layout: Layout, run: RunFolder) -> None:
    layout.format.write_text('{"magic": "flor", "version": 9}')
    assert [finding.path for finding in check_store(layout)] == [layout.format]


def test_no_store_is_noted(tmp_path: Path) -> None:
    assert [finding.what for finding in check_store(Layout(tmp_path / ".flor"))] == ["there is no store here"]
