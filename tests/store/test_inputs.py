"""Readings packed and unpacked."""

from __future__ import annotations

from itertools import count as counting
from pathlib import Path

import pytest

from flor.model.positions import Level
from flor.model.records import Atom, Inputs
from flor.store.codec import LEVEL
from flor.store.inputs import FEW, count, groups, pack, position_of, renumbered, truncated
from flor.store.journal import JournalWriter
from flor.store.reader import read_journal

HEAD = (LEVEL.pack(4, 0, 7) + LEVEL.pack(5, 1, 0))[:-4]
VALUES: dict[str, list[Atom]] = {
    "one number": [1.5],
    "some of each kind": [1.5, 3, "text", b"bytes", None, -(10**30), float("inf"), ""],
    "many times": [1.7e9 + 1e-6 * n for n in range(3 * FEW)],
    "many whole numbers": [10**18 + 977 * n for n in range(3 * FEW)],
    "many that are too large": [10**30 + n for n in range(3 * FEW)],
}


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_what_was_packed_is_unpacked(values: list[Atom]) -> None:
    payload = pack([(HEAD, n // 2, n % 3, value) for n, value in enumerate(values)])
    found = [(group.head, *reading) for group in groups(payload) for reading in group.readings()]
    assert found == [(HEAD, n // 2, n % 3, value) for n, value in enumerate(values)]


def test_a_million_readings_of_a_clock_take_few_bytes_each() -> None:
    entries = [(HEAD, n, 3, 1.7e9 + 1.3e-6 * n) for n in range(1000)]
    assert len(pack(entries)) < 8 * len(entries)


def test_readings_are_cut_and_renumbered() -> None:
    texts = {3: "time.time train.py::<module>", 4: "train.py::<module>#0", 5: "train.py::<module>#1"}
    record = Inputs(pack([(b"", 0, 3, 0.5), *((HEAD, n, 3, float(n)) for n in range(50))]), texts)
    assert count(record) == 51
    assert count(truncated(record, 7)) == 7
    number, known = counting(100).__next__, {}
    payload = renumbered(record, lambda text: known.setdefault(text, number()) if text not in known else known[text])
    other = {new: text for text, new in known.items()}
    last = list(groups(payload))[-1]
    assert position_of(last.head, 9, other) == (Level(texts[4], 0, 7), Level(texts[5], 1, 9))


def test_what_waits_is_written_before_the_next_record(tmp_path: Path) -> None:
    journal = JournalWriter.create(tmp_path / "0-1.live")
    name, site = journal.intern("loss"), journal.intern("time.time train.py::<module>")
    journal.waiting.append((b"", 0, site, 2.5))
    journal.log(4, name, name, b"", 4, b"\0" * 8, 0.0)
    kinds = [type(record).__name__ for record in read_journal(journal.path)]
    assert kinds == ["Inputs", "LogRecord"]
