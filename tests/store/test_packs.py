"""Packs: tensors on disk."""

from __future__ import annotations

import random
import stat
import struct
from pathlib import Path

import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

from flor.errors import Damaged, StoreUnwritable
from flor.store.directio import BLOCK
from flor.store.packreader import read_pack
from flor.store.packs import ITEM_SIZES, LARGE, PackEntry, write_pack

SOME = [
    PackEntry("flags", "BOOL", (3,), b"\1\0\1"),
    PackEntry("weight", "F32", (2, 3), struct.pack("<6f", *range(6))),
    PackEntry("step", "I64", (), struct.pack("<q", 41)),
    PackEntry("half", "BF16", (2,), b"\x80\x3f\0\0"),
    PackEntry("empty", "F64", (0, 4), b""),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "0.safetensors"


def test_entries_come_back_as_they_were(path: Path) -> None:
    info = write_pack(path, SOME, {"position": "main/epoch=3"})
    with read_pack(path) as pack:
        assert {(name, pack[name].dtype, pack[name].shape, bytes(pack[name].data)) for name in pack.names} == {
            (entry.name, entry.dtype, entry.shape, bytes(entry.data)) for entry in SOME
        }
        assert (pack.metadata, pack.verify()) == ({"position": "main/epoch=3"}, [])
        assert (pack.digests, pack.header) == (info.digests, info.header)
    assert info.size == path.stat().st_size and stat.S_IMODE(path.stat().st_mode) == 0o600


def test_safetensors_opens_a_pack(path: Path) -> None:
    write_pack(path, [entry for entry in SOME if entry.dtype != "BF16"], {"position": "x"})
    loaded = load_file(path)
    assert loaded["weight"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert (loaded["step"].item(), loaded["flags"].tolist(), loaded["empty"].shape) == (41, [True, False, True], (0, 4))
    with safe_open(path, "numpy") as opened:
        assert opened.metadata()["position"] == "x"


@pytest.mark.parametrize("dtype", ITEM_SIZES)
def test_safetensors_knows_every_dtype_and_its_size(path: Path, dtype: str) -> None:
    write_pack(path, [PackEntry("x", dtype, (3,), bytes(3 * ITEM_SIZES[dtype]))])
    with safe_open(path, "numpy") as opened:
        assert opened.get_slice("x").get_dtype() == dtype


def test_large_entries_begin_at_whole_blocks_and_nobody_sees_what_lies_between(path: Path) -> None:
    large = [
        PackEntry(name, "F32", (count,), random.Random(name).randbytes(4 * count))
        for name, count in (("odd", LARGE // 4 + 7), ("even", LARGE // 4), ("third", LARGE // 2 + 1))
    ]
    info = write_pack(path, [*SOME, *large])
    assert path.stat().st_size == info.size
    with read_pack(path) as pack:
        assert set(pack.names) == {entry.name for entry in [*SOME, *large]} and pack.verify() == []
        assert all(bytes(pack[entry.name].data) == bytes(entry.data) for entry in [*SOME, *large])
    raw = path.read_bytes()
    assert all(raw.index(bytes(entry.data)) % BLOCK == 0 for entry in large)
    with safe_open(path, "numpy") as opened:
        assert opened.get_tensor("odd").tobytes() == bytes(large[0].data)


def test_every_tensor_is_aligned_to_its_items_and_the_data_to_64(path: Path) -> None:
    write_pack(path, SOME)
    header = int.from_bytes(path.read_bytes()[:8], "little")
    assert (8 + header) % 64 == 0
    with read_pack(path) as pack:
        at = 0
        for name in pack.names:
            assert at % ITEM_SIZES[pack[name].dtype] == 0
            at += len(pack[name].data)


def test_buffers_of_any_shape_are_taken(path: Path) -> None:
    floats: memoryview = memoryview(bytearray(struct.pack("<6f", *range(6)))).cast("f", (2, 3))  # type: ignore[assignment]
    write_pack(path, [PackEntry("a", "F32", (2, 3), floats), PackEntry("b", "U8", (24,), bytearray(24))])
    with read_pack(path) as pack:
        assert bytes(pack["a"].data) == floats.tobytes()


@pytest.mark.parametrize(
    "entries",
    [
        [PackEntry("a", "F32", (2,), b"1234567")],
        [PackEntry("a", "F31", (1,), b"1234")],
        [PackEntry("a", "U8", (1,), b"1"), PackEntry("a", "U8", (1,), b"2")],
        [PackEntry("__metadata__", "U8", (1,), b"1")],
    ],
)
def test_entries_that_do_not_fit_are_refused(path: Path, entries: list[PackEntry]) -> None:
    with pytest.raises(ValueError):
        write_pack(path, entries)
    assert list(path.parent.iterdir()) == []


def test_metadata_that_looks_like_ours_is_refused_or_harmless(path: Path) -> None:
    with pytest.raises(ValueError, match="kept for"):
        write_pack(path, SOME, {"flor.header": "x"})
    tricky = {"a": '"flor.header":"' + "0" * 32 + '"', "b": "\n\\ \U0001f9a6"}
    write_pack(path, SOME, tricky)
    with read_pack(path) as pack:
        assert pack.metadata == tricky


def test_a_view_outlives_the_pack_it_came_from(path: Path) -> None:
    write_pack(path, SOME)
    pack = read_pack(path)
    step = pack["step"].data
    pack.close()
    assert struct.unpack("<q", step)[0] == 41


def test_500_flips_are_each_found(path: Path) -> None:
    write_pack(path, SOME, {"position": "main/epoch=3"})
    data, source = path.read_bytes(), random.Random(5)
    for _ in range(500):
        broken = bytearray(data)
        broken[source.randrange(len(data))] ^= 1 << source.randrange(8)
        path.write_bytes(bytes(broken))
        assert is_damaged(path)


def is_damaged(path: Path) -> bool:
    try:
        with read_pack(path) as pack:
            return pack.verify() != []
    except Damaged:
        return True


def test_every_cut_is_found(path: Path) -> None:
    write_pack(path, SOME)
    data = path.read_bytes()
    for size in range(len(data)):
        path.write_bytes(data[:size])
        with pytest.raises(Damaged):
            read_pack(path)


def test_any_file_may_be_read_as_a_pack(path: Path) -> None:
    for content in (b"", b"x" * 100, b"\xff" * 100, (2).to_bytes(8, "little") + b"{}"):
        path.write_bytes(content)
        with pytest.raises(Damaged):
            read_pack(path)
    with pytest.raises(Damaged, match="can't be read"):
        read_pack(path.with_name("nowhere"))


def test_a_pack_that_cannot_be_written_says_so_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(StoreUnwritable, match="checkpoint can't be written"):
        write_pack(tmp_path / "nowhere" / "0.safetensors", SOME)
    assert list(tmp_path.iterdir()) == []
