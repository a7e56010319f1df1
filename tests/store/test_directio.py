"""Files that are written past the page cache: the same bytes, or nothing."""

from __future__ import annotations

import errno
import mmap
import os
import random
from pathlib import Path

import pytest

from flor.store import directio
from flor.store.directio import BLOCK, CHUNK, STRAIGHT, STRETCH, WORTH

LENGTHS = [0, 1, BLOCK, BLOCK + 1, WORTH, CHUNK - 1, CHUNK, CHUNK + BLOCK + 3]


@pytest.mark.parametrize("length", LENGTHS)
def test_every_length_comes_back(tmp_path: Path, length: int) -> None:
    data = random.Random(length).randbytes(length + WORTH)
    path = tmp_path / "file"
    directio.put(path, [data[:7], bytearray(data[7:BLOCK]), b"", memoryview(data)[BLOCK:]])
    assert path.read_bytes() == data
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("length", [STRAIGHT, STRETCH, STRETCH + 5, 2 * STRETCH + BLOCK])
def test_memory_at_whole_blocks_is_written_from_where_it_is(
    tmp_path: Path, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lying, data = mmap.mmap(-1, length), random.Random(length).randbytes(length)
    lying[:] = data
    sizes, real = [], os.pwrite

    def noting(fd: int, part: bytes, offset: int) -> int:
        sizes.append(len(part))
        return real(fd, part, offset)

    monkeypatch.setattr(os, "pwrite", noting)
    directio.put(tmp_path / "file", [bytes(BLOCK), memoryview(lying), b"tail"])
    assert (tmp_path / "file").read_bytes() == bytes(BLOCK) + data + b"tail"
    assert max(sizes) == min(length, STRETCH)


def test_views_of_other_items_are_taken_as_bytes(tmp_path: Path) -> None:
    numbers = memoryview(bytearray(WORTH)).cast("d")
    directio.put(tmp_path / "file", [numbers])
    assert (tmp_path / "file").stat().st_size == WORTH


def test_a_filesystem_that_refuses_the_flag_is_written_through_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def refusing(path: str, flags: int, mode: int = 0o777) -> int:
        if flags & directio.DIRECT:
            raise OSError(errno.EINVAL, "no direct writes here")
        return real(path, flags, mode)

    monkeypatch.setattr(os, "open", refusing)
    directio.put(tmp_path / "file", [bytes(WORTH), b"tail"])
    assert (tmp_path / "file").read_bytes() == bytes(WORTH) + b"tail"


def test_a_filesystem_that_refuses_the_write_is_written_through_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, refused = os.pwrite, []

    def refusing(fd: int, data: memoryview, offset: int) -> int:
        if not refused:
            refused.append(offset)
            raise OSError(errno.EINVAL, "not aligned as it likes")
        return real(fd, data, offset)

    monkeypatch.setattr(os, "pwrite", refusing)
    directio.put(tmp_path / "file", [bytes(WORTH), b"tail"])
    assert (tmp_path / "file").read_bytes() == bytes(WORTH) + b"tail"


def test_short_writes_are_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, data, offset: real(fd, data[: max(1, len(data) // 2 - 1)], offset))
    data = random.Random(3).randbytes(WORTH + 77)
    directio.put(tmp_path / "file", [data])
    assert (tmp_path / "file").read_bytes() == data


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(fd: int, data: memoryview, offset: int) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(OSError, match="No space"):
        directio.put(tmp_path / "file", [bytes(WORTH)])
    assert list(tmp_path.iterdir()) == []
