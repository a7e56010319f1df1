"""A pack read back: its tensors as views of the mapped file, nothing copied and nothing executed."""

from __future__ import annotations

import json
import mmap
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

from xxhash import xxh3_128_hexdigest

from flor.errors import Damaged
from flor.store import files
from flor.store.packs import DIGEST, HEADER_DIGEST, ITEM_SIZES, METADATA, PADDING, header_is_intact

_HEADER_LIMIT = 100_000_000  # that of safetensors


@dataclass(frozen=True, slots=True)
class PackedTensor:
    """One tensor of a pack; `data` is valid until the pack is closed."""

    dtype: str
    shape: tuple[int, ...]
    data: memoryview = field(repr=False)


class Pack:
    """An open pack; its entries are found in the mapped file when asked for."""

    def __init__(self, path: Path, mapped: mmap.mmap, start: int, table: Mapping[str, Any]) -> None:
        self.path = path
        texts = dict(table.get(METADATA, {}))
        self.digests = {key.removeprefix(DIGEST): texts.pop(key) for key in list(texts) if key.startswith(DIGEST)}
        self.header = texts.pop(HEADER_DIGEST, "")
        self.metadata: Mapping[str, str] = texts
        self._places = {name: _place(path, row) for name, row in table.items() if name != METADATA}
        self._view = memoryview(mapped)[start:]
        self._mapped = mapped
        self._check_places()

    @property
    def names(self) -> list[str]:
        """The entries, in the order of their bytes."""
        return [name for name in self._places if not name.startswith(PADDING)]

    def __getitem__(self, name: str) -> PackedTensor:
        dtype, shape, begin, end = self._places[name]
        return PackedTensor(dtype, shape, self._view[begin:end])

    def verify(self) -> list[str]:
        """The names of the entries whose bytes are not those that were written."""
        return [name for name in self.names if xxh3_128_hexdigest(self[name].data) != self.digests.get(name)]

    def close(self) -> None:
        """Unmap the file; views that are still in use keep it mapped."""
        with suppress(BufferError):  # then it is unmapped with the last view
            self._view.release()
            self._mapped.close()

    def __enter__(self) -> Pack:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_places(self) -> None:
        """Entries fill the data without holes or overlaps, as safetensors has it."""
        at = 0
        for dtype, shape, begin, end in self._places.values():
            if begin != at or end - begin != prod(shape) * ITEM_SIZES.get(dtype, -1):
                raise _damaged(self.path, "an entry's place does not fit its shape")
            at = end
        if at != len(self._view):
            raise _damaged(self.path, f"the entries have {at} bytes, the file has {len(self._view)}")


def read_pack(path: Path) -> Pack:
    """Open a pack; Damaged if its header is not what was written or the file was cut."""
    try:
        with open(files.open_regular(path), "rb") as file:
            header = file.read(8)
            length = int.from_bytes(header, "little")
            text = file.read(length) if length <= _HEADER_LIMIT else b""
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise _damaged(path, f"it can't be read: {error}") from error
    if len(text) != length or not header_is_intact(text):
        raise _damaged(path, "its header is not what was written")
    try:
        return Pack(path, mapped, 8 + length, json.loads(text))
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise _damaged(path, f"its header makes no sense: {error}") from error


def _place(path: Path, row: Any) -> tuple[str, tuple[int, ...], int, int]:
    try:
        begin, end = row["data_offsets"]
        shape = tuple(int(size) for size in row["shape"])
        place = (str(row["dtype"]), shape, int(begin), int(end))
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(path, f"an entry's row makes no sense: {error}") from error
    if min((*shape, begin), default=0) < 0:
        raise _damaged(path, "an entry's row has negative numbers")
    return place


def _damaged(path: Path, what: str) -> Damaged:
    return Damaged(f"A checkpoint file is damaged: {what}.", where=str(path), todo="`flor fsck` lists all damage.")
