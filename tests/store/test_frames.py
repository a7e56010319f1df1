"""Frames survive damage around them and are never read as something else."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flor.store.frames import (
    CHUNK,
    HEAD,
    LIMIT,
    MARK,
    OPENING_SIZE,
    Frame,
    Gap,
    Opening,
    frame_bytes,
    opening_bytes,
    parse_opening,
    scan,
)

SALT = 0x1234_5678_9ABC_DEF0
OPENING = Opening(SALT, 1_700_000_000)


def read(data: bytes, start: int = 0, salt: int = SALT) -> list[Frame | Gap]:
    return list(scan(lambda offset, size: data[offset : offset + size], len(data), salt, start))


def frames(found: list[Frame | Gap]) -> list[tuple[int, bytes]]:
    return [(each.kind, each.payload) for each in found if isinstance(each, Frame)]


def gaps(found: list[Frame | Gap]) -> list[Gap]:
    return [each for each in found if isinstance(each, Gap)]


def several(count: int) -> list[bytes]:
    return [frame_bytes(2, b"value %d" % number, SALT) for number in range(count)]


@given(st.lists(st.tuples(st.integers(0, 255), st.binary(max_size=200))))
def test_frames_come_back_as_they_were(written: list[tuple[int, bytes]]) -> None:
    data = b"".join(frame_bytes(kind, payload, SALT) for kind, payload in written)
    assert [(each.kind, each.payload) for each in read(data)] == written  # type: ignore[union-attr]


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**63))
def test_the_opening_comes_back_as_it_was(salt: int, created: int) -> None:
    assert parse_opening(opening_bytes(Opening(salt, created))) == Opening(salt, created)


@pytest.mark.parametrize("bit", range(0, OPENING_SIZE * 8, 7))
def test_either_copy_of_the_opening_is_enough(bit: int) -> None:
    data = bytearray(opening_bytes(OPENING))
    data[bit // 8] ^= 1 << bit % 8
    found = parse_opening(bytes(data))
    assert found is not None and (found.salt, found.created, found.whole) == (SALT, OPENING.created, False)


def test_without_a_whole_copy_there_is_no_opening() -> None:
    data = bytearray(opening_bytes(OPENING))
    data[9] ^= 1
    data[OPENING_SIZE // 2 + 9] ^= 1
    assert parse_opening(bytes(data)) is None
    assert parse_opening(b"") is None
    assert parse_opening(opening_bytes(OPENING)[:39]) is None


def test_a_torn_tail_is_reported_and_what_is_before_it_is_read() -> None:
    whole = several(3)
    data = b"".join(whole)
    for cut in range(1, len(whole[2])):
        found = read(data[:-cut])
        assert len(frames(found)) == 2
        assert [(gap.offset, gap.torn) for gap in gaps(found)] == [(len(whole[0]) * 2, True)]


def test_zeros_at_the_end_are_a_torn_tail() -> None:
    data = b"".join(several(2))
    assert gaps(read(data + bytes(5000))) == [Gap(len(data), 5000, "no frame begins here", True)]


def test_a_damaged_frame_is_reported_with_its_place_and_reading_goes_on() -> None:
    one, two, three = several(3)
    broken = bytearray(two)
    broken[-10] ^= 4
    found = read(one + bytes(broken) + three)
    assert frames(found) == [(2, b"value 0"), (2, b"value 2")]
    assert gaps(found) == [Gap(len(one), len(two), "the checksum does not fit", False)]


def test_after_half_a_frame_the_next_one_is_found() -> None:
    one, two, three = several(3)
    for size in range(1, len(two)):
        found = read(one + two[:size] + three)
        assert frames(found) == [(2, b"value 0"), (2, b"value 2")]
        assert gaps(found)[0][:2] == (len(one), size)
        assert not gaps(found)[0].torn


def test_a_frame_of_another_file_inside_a_damaged_one_is_not_read() -> None:
    foreign = frame_bytes(2, b"not of this file", SALT + 1)
    outer = bytearray(frame_bytes(4, b"source text " + foreign * 3, SALT))
    outer[12] ^= 1
    assert frames(read(bytes(outer) + several(1)[0])) == [(2, b"value 0")]


def test_a_marker_across_two_chunks_is_found() -> None:
    for shift in range(-5, 6):
        junk = b"j" * (CHUNK + shift)
        assert frames(read(junk + several(1)[0])) == [(2, b"value 0")]


def test_a_long_frame_is_read_and_its_damage_found() -> None:
    long = frame_bytes(4, random.Random(0).randbytes(3 * CHUNK), SALT)
    assert [len(payload) for _, payload in frames(read(long + several(1)[0]))] == [3 * CHUNK, 7]
    broken = bytearray(long)
    broken[CHUNK * 2] ^= 1
    found = read(bytes(broken) + several(1)[0])
    assert frames(found) == [(2, b"value 0")] and gaps(found)[0].length == len(long)


def test_a_damaged_length_does_not_make_the_reader_take_the_whole_file() -> None:
    lying = HEAD.pack(MARK, 2, LIMIT, 0) + bytes(64)
    data = lying + several(1)[0] + bytes(4 * CHUNK)
    sizes: list[int] = []

    def read_at(offset: int, size: int) -> bytes:
        sizes.append(size)
        return data[offset : offset + size]

    claimed_end = len(lying) + LIMIT * 2
    found = next(each for each in scan(read_at, claimed_end, SALT, 0) if isinstance(each, Frame))
    assert found.payload == b"value 0"
    assert max(sizes) <= CHUNK


def test_the_payload_limit_is_part_of_the_format() -> None:
    head = HEAD.pack(MARK, 2, LIMIT + 1, 0)
    assert gaps(read(head + several(1)[0]))[0].reason == "no frame begins here"


def damaged(data: bytes, count: int) -> Iterator[bytes]:
    """The data with one bit flipped, and cut somewhere, `count` times each."""
    source = random.Random(20240)
    for _ in range(count):
        flipped = bytearray(data)
        flipped[source.randrange(len(data))] ^= 1 << source.randrange(8)
        yield bytes(flipped)
        yield data[: source.randrange(len(data))]


def test_2000_flips_and_cuts_are_each_found_or_harmless() -> None:
    source = random.Random(7)
    written = [(source.randrange(1, 7), source.randbytes(source.randrange(60))) for _ in range(30)]
    data = b"".join(frame_bytes(kind, payload, SALT) for kind, payload in written)
    ends = {each.end for each in read(data)} | {0}  # type: ignore[union-attr]
    for broken in damaged(data, 2000):
        found = read(broken)
        got = frames(found)
        missing = [each for each in written if each not in got]
        assert [each for each in written if each in got] == got  # nothing else, and in order
        assert missing or got == written
        if got != written and len(broken) not in ends:
            assert gaps(found)
