"""A probe's pieces, joined to lines."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from flor.model.records import Channel, LogRecord, Note, Record, Tag
from flor.replay.joining import JoiningJournal
from flor.store.reader import read_journal

PROBE, OTHER = "train.py:3:<module>", "train.py:5:<module>"
Write = Callable[..., None]


@pytest.fixture
def journal(tmp_path: Path) -> JoiningJournal:
    """A journal in which one statement is a probe."""
    made = JoiningJournal.create(tmp_path / "w0.live")
    made.probes.add(made.intern(PROBE))
    return made


@pytest.fixture
def write(journal: JoiningJournal) -> Write:
    """Log a piece as a stream does."""

    def piece(text: str, statement: str = PROBE, position: bytes = b"", channel: Channel = Channel.STDOUT) -> None:
        numbers = journal.intern(""), journal.intern(statement)
        journal.log(channel, *numbers, position, Tag.STR, text.encode(), 1.0)

    return piece


def said(journal: JoiningJournal) -> list[Record]:
    """What the journal holds now."""
    return list(read_journal(journal.path))


def texts(journal: JoiningJournal) -> list[str]:
    """The log records among it."""
    return [record.data.decode() for record in said(journal) if isinstance(record, LogRecord)]


def test_the_pieces_of_a_probes_print_are_one_record(journal: JoiningJournal, write: Write) -> None:
    for piece in ("loss", " ", "0.5", "\n", "next", "\n"):
        write(piece)
    assert texts(journal) == ["loss 0.5\n", "next\n"]


def test_the_pieces_of_a_recorded_statement_stay_pieces(journal: JoiningJournal, write: Write) -> None:
    for piece in ("loss", " ", "0.5", "\n"):
        write(piece, OTHER)
    assert texts(journal) == ["loss", " ", "0.5", "\n"]


def test_an_unfinished_line_comes_before_what_is_logged_next(journal: JoiningJournal, write: Write) -> None:
    write("dots ")
    write("recorded", OTHER)
    write("more ")
    journal.append(Note("segment", {}))
    kinds = [type(record).__name__ for record in said(journal)]
    assert texts(journal) == ["dots ", "recorded", "more "]
    assert kinds[-2:] == ["LogRecord", "Note"]


def test_pieces_of_two_streams_are_two_lines(journal: JoiningJournal, write: Write) -> None:
    write("out")
    write("err", channel=Channel.STDERR)
    write("out\n")
    assert texts(journal)[:2] == ["out", "err"]
    assert texts(journal)[2:] == ["out\n"]


def test_a_line_that_another_thread_has_ended_is_not_continued(journal: JoiningJournal, write: Write) -> None:
    write("mine ")
    line = journal.line
    other = threading.Thread(target=write, args=("other", OTHER))
    other.start()
    other.join()
    assert line is not None
    assert not journal.continues(line, b"rest\n")
    assert texts(journal) == ["mine ", "other"]


def test_a_signal_handler_that_logs_in_the_middle_of_a_call_loses_nothing(
    journal: JoiningJournal, write: Write
) -> None:
    class Interrupted(bytes):
        def endswith(self, *_: object) -> bool:  # type: ignore[override]
            write("from the handler\n", OTHER)
            return bytes(self)[-1:] == b"\n"

    numbers = journal.intern(""), journal.intern(PROBE)
    journal.log(Channel.STDOUT, *numbers, b"", Tag.STR, Interrupted(b"line\n"), 1.0)
    assert sorted(texts(journal)) == ["from the handler\n", "line\n"]


def test_a_forked_child_does_not_wait_for_a_thread_that_it_does_not_have(journal: JoiningJournal, write: Write) -> None:
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with journal._joining:
            held.set()
            done.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(30)
    child = os.fork()
    if not child:
        signal.alarm(10)
        write("in the child\n")
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    done.set()
    thread.join()
    assert status == 0
    assert texts(journal) == []


SCRIPT = """
import sys
total = 0
for epoch in range(4):
    for step in range(3):
        total += step
        # probe
    print(epoch, total)
"""


@pytest.mark.parametrize(
    "probe",
    [
        "print(step, total)",
        "print(step, end=' ')",
        "print(step, end='')",
        "sys.stdout.write(f'{step},')",
        "print('a', 'b', sep='\\n', end='')",
        "print(step, [total], flush=True)",
    ],
)
def test_each_way_to_print_gives_what_a_full_run_prints(tmp_path: Path, probe: str) -> None:
    import subprocess

    script = tmp_path / "train.py"

    def run(*words: str) -> str:
        return subprocess.run([sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    script.write_text(SCRIPT)
    run("-m", "flor", "record", "train.py")
    script.write_text(SCRIPT.replace("# probe", probe))
    assert run("-m", "flor", "replay", "--all", "-j", "1") == run("train.py")
