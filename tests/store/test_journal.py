"""Journals: written by one process, read by any."""

from __future__ import annotations

import errno
import os
import random
import resource
import signal
import stat
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from flor.errors import NewerFormat, StoreError, StoreUnwritable
from flor.model.positions import Level
from flor.model.records import Channel, Ended, Facts, LogRecord, Note, Record, Source, Statement, Tag
from flor.store import journal
from flor.store.codec import LEVEL
from flor.store.frames import OPENING_SIZE, Opening, opening_bytes
from flor.store.journal import JournalWriter
from flor.store.reader import JournalReader, read_journal

STATEMENT = Statement("train.py", 12, "main")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "0-4711.live"


@pytest.fixture
def writer(path: Path) -> Iterator[JournalWriter]:
    writer = JournalWriter.create(path)
    yield writer
    writer.close()


def value(number: float, name: str = "loss") -> LogRecord:
    position = (Level("train.py::main#0", 0, 3), Level("train.py::train#0", 1, 17))
    return LogRecord(Channel.FLOR, name, Tag.FLOAT, struct.pack("<d", number), position, STATEMENT, 1.5)


def numbers(records: list[Record]) -> list[float]:
    return [struct.unpack("<d", record.data)[0] for record in records if isinstance(record, LogRecord)]


def read(path: Path) -> tuple[list[Record], JournalReader]:
    reader = read_journal(path)
    return list(reader), reader


def write_some(path: Path, count: int, *, seal: bool) -> Path:
    writer = JournalWriter.create(path)
    for number in range(count):
        writer.append(value(number, f"name{number % 3}"))
    if seal:
        assert writer.seal(Ended({"exit": 0}))
    writer.close()
    return writer.path


def test_every_record_comes_back_in_order(writer: JournalWriter, path: Path) -> None:
    records: list[Record] = [
        Facts({"argv": ["train.py"]}),
        Source("train.py", "__main__", b"print(1)\n"),
        value(0.1),
        Note("checkpoint", {"bytes": 3}),
        value(float("inf"), "other"),
        LogRecord(Channel.STDOUT, "", Tag.STR, b"hello\n", (), Statement("", 0, ""), 2.0),
    ]
    for record in records:
        writer.append(record)
    ended = Ended({"exit": 0})
    assert writer.seal(ended)
    found, reader = read(path.with_suffix(".journal"))
    assert found == [*records, ended]
    assert (reader.status, reader.damage, reader.torn, reader.ended) == ("sealed", [], False, ended)


def test_the_fast_way_writes_what_the_slow_way_writes(writer: JournalWriter, path: Path) -> None:
    name, statement = writer.intern("loss"), writer.intern(str(STATEMENT))
    loops = writer.intern("train.py::main#0"), writer.intern("train.py::train#0")
    position = LEVEL.pack(loops[0], 0, 3) + LEVEL.pack(loops[1], 1, 17)
    writer.log(Channel.FLOR, name, statement, position, Tag.FLOAT, struct.pack("<d", 2.5), 1.5)
    assert read(path)[0] == [value(2.5)]


def test_a_text_is_defined_once(writer: JournalWriter, path: Path) -> None:
    assert writer.intern("a") == writer.intern("a") != writer.intern("b")
    size = writer.size()
    writer.intern("b")
    assert writer.size() == size == path.stat().st_size


def test_each_record_is_one_write_that_needs_no_flush(writer: JournalWriter, path: Path) -> None:
    for number in range(5):
        writer.append(value(number))
        assert numbers(read(path)[0]) == list(range(number + 1))


def test_a_journal_is_private_and_its_name_is_claimed(writer: JournalWriter, path: Path) -> None:
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(FileExistsError):
        JournalWriter.create(path)


def test_a_journal_that_cannot_be_made_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreUnwritable, match=r"No such file.*--store"):
        JournalWriter.create(tmp_path / "nowhere" / "0-1.live")


def test_a_reader_tells_recording_from_killed_from_sealed(writer: JournalWriter, path: Path) -> None:
    assert read_journal(path).status == "recording"
    writer.close()
    assert read_journal(path).status == "killed"
    assert read_journal(write_some(path.with_name("0-1.live"), 1, seal=True)).status == "sealed"


def test_a_journal_asked_for_while_it_is_sealed_is_found(writer: JournalWriter, path: Path) -> None:
    reader = read_journal(path)
    writer.append(value(1))
    writer.seal(Ended({}))
    assert numbers(list(reader)) == [1]
    assert read_journal(path).status == "sealed"


def test_a_journal_that_is_not_there_says_so(path: Path) -> None:
    with pytest.raises(StoreError, match="not there"):
        read_journal(path)


def test_a_torn_tail_is_ignored(path: Path) -> None:
    write_some(path, 10, seal=False)
    data = path.read_bytes()
    path.write_bytes(data[:-5])
    found, reader = read(path)
    assert numbers(found) == list(range(9))
    assert (reader.torn, reader.damage) == (True, [])


def test_while_it_is_recorded_half_a_frame_is_not_torn(writer: JournalWriter, path: Path) -> None:
    writer.append(value(1))
    with open(path, "ab") as file:
        file.write(b"\xffFL\xf9\x02")
    found, reader = read(path)
    assert (numbers(found), reader.torn, reader.damage) == ([1], False, [])


def test_a_killed_process_of_which_only_the_name_is_there_reads_as_empty(path: Path) -> None:
    for size in (0, 1, OPENING_SIZE - 1):
        path.write_bytes(opening_bytes(Opening(1, 1))[:size])
        found, reader = read(path)
        assert (found, reader.status, reader.damage) == ([], "killed", [])


def test_a_sealed_journal_cut_between_frames_is_detected(path: Path) -> None:
    sealed = write_some(path, 4, seal=True)
    data = sealed.read_bytes()
    for size in range(len(data)):
        sealed.write_bytes(data[:size])
        reader = read(sealed)[1]
        assert reader.damage, size


def test_frames_taken_out_of_a_sealed_journal_are_missed(path: Path) -> None:
    sealed = write_some(path, 6, seal=True)
    data = sealed.read_bytes()
    starts = [at for at in range(len(data)) if data.startswith(b"\xffFL\xf9", at)]
    sealed.write_bytes(data[: starts[-3]] + data[starts[-2] :])
    assert "are missing" in read(sealed)[1].damage[0].reason


def test_a_damaged_name_takes_its_values_with_it_and_no_others(path: Path) -> None:
    write_some(path, 6, seal=False)
    data = bytearray(path.read_bytes())
    data[data.index(b"name1")] ^= 1
    path.write_bytes(bytes(data))
    found, reader = read(path)
    assert numbers(found) == [0, 2, 3, 5]
    assert len(reader.damage) == 3


def test_2000_flips_of_a_sealed_journal_are_each_found_and_nothing_else_is_read(path: Path) -> None:
    sealed = write_some(path, 20, seal=True)
    data, source = sealed.read_bytes(), random.Random(3)
    whole = read(sealed)[0]
    for _ in range(2000):
        broken = bytearray(data)
        broken[source.randrange(len(data))] ^= 1 << source.randrange(8)
        sealed.write_bytes(bytes(broken))
        found, reader = read(sealed)
        assert reader.damage
        assert [record for record in whole if record in found] == found


def test_a_newer_journal_is_refused(path: Path) -> None:
    path.write_bytes(opening_bytes(Opening(1, 1, version=3)))
    with pytest.raises(NewerFormat, match="format 3"):
        list(read_journal(path))


def test_any_file_may_be_read_as_a_journal(path: Path) -> None:
    for content in (b"x" * 5000, bytes(5000), random.Random(1).randbytes(5000)):
        path.write_bytes(content)
        found, reader = read(path)
        assert found == [] and reader.damage[0].length == 5000


def test_threads_write_whole_frames(writer: JournalWriter, path: Path) -> None:
    def work(first: int) -> None:
        for number in range(first, first + 200):
            writer.append(value(number, f"name{number % 7}"))

    threads = [threading.Thread(target=work, args=(first,)) for first in range(0, 1600, 200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.seal(Ended({}))
    found, reader = read(writer.path)
    assert sorted(numbers(found)) == list(range(1600))
    assert reader.damage == []


def test_a_signal_handler_may_log_in_the_middle_of_a_log(writer: JournalWriter, path: Path) -> None:
    previous = signal.signal(signal.SIGALRM, lambda *_: writer.append(value(-1, str(random.random()))))
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    try:
        for number in range(3000):
            writer.append(value(number, str(number % 100)))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    found, reader = read(path)
    assert [number for number in numbers(found) if number >= 0] == list(range(3000))
    assert reader.damage == []


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from flor.model.records import Ended, Note
from flor.store.journal import JournalWriter

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
said = []
writer = JournalWriter.create(Path(sys.argv[1]), on_failure=said.append)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
for number in range(100):
    writer.append(Note("n", {"number": number}))
print(len(said), writer.failed.errno, writer.intern("still") == writer.intern("still"), writer.seal(Ended({})))
"""


def test_a_full_disk_is_said_once_and_stops_nothing(path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FULL_DISK, str(path)], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (f"1 {errno.EFBIG} True False\n", "")
    found, reader = read(path)
    assert [note.values["number"] for note in found if isinstance(note, Note)] == list(range(len(found)))
    assert (len(found) > 10, reader.status, reader.torn, reader.damage) == (True, "killed", True, [])


def test_a_callback_that_fails_stops_nothing(path: Path) -> None:
    def complain(error: OSError) -> None:
        raise RuntimeError(error)

    writer = JournalWriter.create(path, on_failure=complain)
    with open("/dev/full", "wb", buffering=0) as full:
        os.dup2(full.fileno(), writer._fd)
    writer.append(value(1))
    assert writer.failed is not None and writer.failed.errno == errno.ENOSPC
    writer.append(value(2))
    writer.close()


def test_a_short_write_is_written_again(writer: JournalWriter, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = os.write, iter(range(100))

    def short(fd: int, data: bytes) -> int:
        return real(fd, data[: len(data) // 2] if next(calls) == 4 else data)

    monkeypatch.setattr(journal, "_write", short)
    for number in range(4):
        writer.append(value(number))
    found, reader = read(path)
    assert numbers(found) == [0, 1, 2, 3]
    assert [damage.reason for damage in reader.damage] == ["the checksum does not fit"]


def test_a_position_that_does_not_fit_is_dropped_with_a_note(writer: JournalWriter, path: Path) -> None:
    odd = LogRecord(Channel.FLOR, "x", Tag.NONE, b"", (Level("l", 1 << 32, 0),), STATEMENT, 0.0)
    writer.append(odd)
    writer.log(Channel.FLOR, 1 << 40, 0, b"", Tag.NONE, b"", 0.0)
    assert [record.kind for record in read(path)[0] if isinstance(record, Note)] == ["dropped", "dropped"]
    assert writer.failed is None


def test_a_value_too_long_for_a_frame_is_dropped_with_a_note(
    writer: JournalWriter, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "LIMIT", 1000)
    writer.log(Channel.FLOR, writer.intern("x"), 0, b"", Tag.STR, b"x" * 1001, 0.0)
    writer.append(Source("a", "b", b"x" * 1001))
    assert [type(record) for record in read(path)[0]] == [Note, Note]


def test_a_forked_child_neither_writes_nor_keeps_the_lock(writer: JournalWriter, path: Path) -> None:
    writer.append(value(1))
    ready, go = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        writer.append(value(2))
        writer.sync()
        sealed = writer.seal(Ended({}))
        os.write(ready[1], b"1" if sealed else b"0")
        os.read(go[0], 1)
        os._exit(0)
    assert os.read(ready[0], 1) == b"0"
    writer.append(value(3))
    writer.close()
    try:
        assert read_journal(path).status == "killed"  # the child lives, and does not hold it
        assert numbers(read(path)[0]) == [1, 3]
    finally:
        os.write(go[1], b"x")
        os.waitpid(child, 0)
        for end in (*ready, *go):
            os.close(end)


def test_after_closing_nothing_is_written_to_a_file_that_gets_the_number(path: Path, tmp_path: Path) -> None:
    writer = JournalWriter.create(path)
    writer.close()
    with open(tmp_path / "users", "wb") as users, open(tmp_path / "too", "wb") as too:
        writer.closed = False  # as a thread sees it that had looked just before
        writer.append(value(1))
        assert Path(users.name).read_bytes() == Path(too.name).read_bytes() == b""


def test_closing_gives_the_descriptor_back(tmp_path: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for number in range(20):
        write_some(tmp_path / f"0-{number}.live", 1, seal=True)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_seal_of_a_folder_that_is_gone_fails_without_raising(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    said: list[OSError] = []
    writer = JournalWriter.create(folder / "0-1.live", on_failure=said.append)
    (folder / "0-1.live").unlink()
    folder.rmdir()
    assert not writer.seal(Ended({}))
    assert [error.errno for error in said] == [errno.ENOENT]


def test_reading_needs_little_memory(path: Path) -> None:
    writer = JournalWriter.create(path)
    for _ in range(60):
        writer.append(Source("a.py", "a", bytes(1 << 20)))
    writer.close()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert sum(1 for _ in read_journal(path)) == 60
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 30_000
