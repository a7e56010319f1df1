"""Records and frames."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flor.model.records import Ended, Facts, Note, Record, Source
from flor.store.codec import ID, LOG, Decoder, Kind, UndecodableError, counts, encode, intern_payload
from flor.store.frames import Frame

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(), JSON)
ANY_TEXT = st.text(st.characters(exclude_categories=()))


def through(record: Facts | Source | Ended | Note) -> Record | None:
    return Decoder().decode(Frame(*encode(record), 0, 0))


@given(OBJECTS)
def test_facts_ends_and_notes_come_back(values: dict[str, object]) -> None:
    assert through(Facts(values)) == Facts(values)
    assert through(Ended(values)) == Ended(values)
    assert through(Note("restored", values)) == Note("restored", values)


@given(ANY_TEXT, ANY_TEXT, st.binary())
def test_sources_come_back_whatever_their_names(path: str, module: str, text: bytes) -> None:
    assert through(Source(path, module, text)) == Source(path, module, text)


def test_what_json_cannot_say_is_said_by_its_repr() -> None:
    assert through(Facts({"seen": {1, 2}, "path": b"x"})) == Facts({"seen": "{1, 2}", "path": "b'x'"})


def test_values_that_hold_themselves_do_not_raise() -> None:
    loop: dict[str, object] = {}
    loop["self"] = loop
    found = through(Ended(loop))
    assert isinstance(found, Ended) and "Circular" in found.values["unencodable"]


def test_an_end_says_how_much_is_before_it() -> None:
    kind, payload = encode(Ended({"exit": 0}), frames=7, offset=4711)
    assert counts(Frame(kind, payload, 0, 0)) == (7, 4711)


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        (Kind.LOG, LOG.pack(4, 4, 0, 0, 0, 0.0)),  # a name that was never defined
        (Kind.LOG, LOG.pack(4, 4, 10, 0, 0, 0.0)),  # a position longer than the payload
        (Kind.LOG, LOG.pack(99, 4, 0, 1, 1, 0.0)),  # no such channel
        (Kind.LOG, LOG.pack(4, 99, 0, 1, 1, 0.0)),  # no such tag
        (Kind.LOG, LOG.pack(4, 4, 3, 1, 1, 0.0) + b"abc"),  # no whole level
        (Kind.LOG, b""),
        (Kind.INTERN, b"\0"),
        (Kind.INTERN, ID.pack(5) + b"\xff"),
        (Kind.INTERN, intern_payload(1, "another")),
        (Kind.FACTS, b"[]"),
        (Kind.FACTS, b"{"),
        (Kind.FACTS, b"[" * 100_000),
        (Kind.NOTE, b"{}"),
        (Kind.NOTE, json.dumps({"kind": "x", "values": 3}).encode()),
        (Kind.SOURCE, b"\xff\xff\xff\xff\0\0\0\0"),
        (Kind.ENDED, b""),
        (77, b""),
    ],
)
def test_a_frame_that_makes_no_sense_is_no_record(kind: int, payload: bytes) -> None:
    decoder = Decoder()
    decoder.decode(Frame(Kind.INTERN, intern_payload(1, "a:1:f"), 0, 0))
    with pytest.raises(UndecodableError):
        decoder.decode(Frame(kind, payload, 0, 0))
