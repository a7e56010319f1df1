"""Rows of a damaged run: text is never joined across a gap, and what is missing is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from flor.cli import main
from flor.errors import DamagedRecord
from flor.model.records import Channel, Ended, Facts, LogRecord, Statement, Tag
from flor.query.export.tables import unformulated
from flor.query.runs import run
from flor.query.text import visible
from flor.store.frames import HEAD
from flor.store.layout import Layout
from flor.store.run import create_run

WHERE = Statement("train.py", 3, "main")


def printed(root: Path, *pieces: str) -> Path:
    """A store whose run has printed these pieces; gives its journal."""
    journal = create_run(Layout(root / ".flor"), "r").fragment(0, 1)
    journal.append(Facts({"argv": ["train.py"], "script": "train.py", "cwd": str(root), "started": 0}))
    for piece in pieces:
        journal.append(LogRecord(Channel.STDOUT, "", Tag.STR, piece.encode(), (), WHERE, 0.0))
    assert journal.seal(Ended({"status": "finished", "seconds": 1.0, "exit": 0}))
    return journal.path


def damage(journal: Path, piece: bytes) -> None:
    data = journal.read_bytes()
    at = data.index(piece)
    journal.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])


def lines(root: Path) -> list[str]:
    with pytest.warns(DamagedRecord, match="missing"):
        return [row.value for row in run("r", root / ".flor").logs()]


def test_pieces_are_not_joined_across_a_damaged_record(tmp_path: Path) -> None:
    journal = printed(tmp_path, "start\n", "loss 1", "@@@@@@", "2.5", "\n", "end\n")
    damage(journal, b"@@@@@@")
    assert lines(tmp_path) == ["start", "end"]


@pytest.mark.parametrize(
    "verb", [["logs", "r"], ["export", "r"], ["runs"], ["show", "r"], ["fsck"], ["logs", "r", "--json"]]
)
def test_readers_fail_and_say_what_is_missing(verb: list[str], tmp_path: Path) -> None:
    damage(printed(tmp_path, "loss 1", "@@@@@@", "2.5", "\n"), b"@@@@@@")
    done = CliRunner().invoke(main, [*verb, "--store", str(tmp_path / ".flor")])
    assert done.exit_code == 1 and "12.5" not in done.output, done.output


def test_a_frame_that_is_gone_is_missed(tmp_path: Path) -> None:
    journal = printed(tmp_path, "loss 1", "@@@@@@", "2.5", "\n", "end\n")
    data = journal.read_bytes()
    mark = HEAD.pack(b"\xffFL\xf9", 0, 0, 0)[:4]
    place = data.index(b"@@@@@@")
    begin, end = data.rindex(mark, 0, place), data.index(mark, place)
    journal.write_bytes(data[:begin] + data[end:])
    assert lines(tmp_path) == ["end"]


def test_a_frame_that_comes_twice_is_given_once(tmp_path: Path) -> None:
    journal = printed(tmp_path, "one\n", "@@@@@@\n", "two\n")
    data = journal.read_bytes()
    mark = HEAD.pack(b"\xffFL\xf9", 0, 0, 0)[:4]
    place = data.index(b"@@@@@@")
    begin, end = data.rindex(mark, 0, place), data.index(mark, place)
    journal.write_bytes(data[:end] + data[begin:end] + data[end:])
    assert [line for line in lines(tmp_path) if line == "@@@@@@"] in ([], ["@@@@@@"])


def test_text_for_people_does_not_steer_their_terminal() -> None:
    assert visible("a\x1b[2Jb\tc\n\x9b") == "a\\x1b[2Jb\tc\n\\x9b"


@pytest.mark.parametrize(
    ("text", "cell"),
    [("=cmd|'x'!A0", "'=cmd|'x'!A0"), ("-1.5", "-1.5"), ("+x", "'+x"), ("loss", "loss"), ("@a", "'@a")],
)
def test_no_cell_is_a_formula(text: str, cell: str) -> None:
    assert unformulated(text) == cell
