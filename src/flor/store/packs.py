"""Tensors written as one file in the safetensors layout, with a checksum for each and for the header."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path

from xxhash import xxh3_128_hexdigest

from flor.errors import StoreUnwritable
from flor.store import directio
from flor.store.directio import BLOCK
from flor.store.files import Buffer

ALIGNMENT = 64
ITEM_SIZES: Mapping[str, int] = {
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0"), 1),
    **dict.fromkeys(("U16", "I16", "F16", "BF16"), 2),
    **dict.fromkeys(("U32", "I32", "F32"), 4),
    **dict.fromkeys(("U64", "I64", "F64", "C64"), 8),
}
METADATA = "__metadata__"
DIGEST = "xxh3."
HEADER_DIGEST = "flor.header"
NO_DIGEST = "0" * 32
PADDING = "padding of "
LARGE = 1 << 20
"""Entries of so many bytes begin at a whole block."""


@dataclass(frozen=True, slots=True)
class PackEntry:
    """One tensor to write: its raw little-endian bytes, in row order, and their digest if it is known already."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    data: Buffer = field(repr=False)
    digest: str = ""


@dataclass(frozen=True, slots=True)
class PackInfo:
    """A pack that is on disk: its size, the digest of its header, and that of every entry."""

    path: Path
    size: int
    header: str
    digests: Mapping[str, str]


def write_pack(path: Path, entries: Sequence[PackEntry], metadata: Mapping[str, str] | None = None) -> PackInfo:
    """Write all entries to a new file that appears under its name only when it is durable."""
    ordered = [*_in_blocks(entries), *_by_item_size(entries)]
    views = [_view(entry) for entry in ordered]
    digests = {e.name: e.digest or xxh3_128_hexdigest(view) for e, view in zip(ordered, views, strict=True)}
    whole_blocks = len(ordered) > 0 and _is_large(ordered[0])
    header = header_bytes(_table(ordered, _metadata(metadata or {}, digests)), BLOCK if whole_blocks else ALIGNMENT)
    try:
        directio.put(path, [len(header).to_bytes(8, "little") + header, *views])
    except OSError as error:
        raise StoreUnwritable(
            f"The checkpoint can't be written: {error.strerror or error}.",
            where=str(path),
            todo="Free some space; what was written before is safe.",
        ) from error
    size = 8 + len(header) + sum(len(view) for view in views)
    return PackInfo(path, size, header_digest(header), digests)


def _is_large(entry: PackEntry) -> bool:
    return memoryview(entry.data).nbytes >= LARGE


def _in_blocks(entries: Sequence[PackEntry]) -> Iterator[PackEntry]:
    """The large ones, each filled up to whole blocks: such are written from where they are, without a copy."""
    for entry in filter(_is_large, entries):
        yield entry
        if missing := -memoryview(entry.data).nbytes % BLOCK:
            yield PackEntry(f"{PADDING}{entry.name}", "U8", (missing,), bytes(missing))


def _by_item_size(entries: Sequence[PackEntry]) -> list[PackEntry]:
    """The others, such that each tensor is aligned to its own items."""
    small = [entry for entry in entries if not _is_large(entry)]
    return sorted(small, key=lambda entry: -_item_size(entry))


def header_bytes(table: Mapping[str, object], alignment: int = ALIGNMENT) -> bytes:
    """The JSON of the table with its own digest, padded with spaces so that the data begins aligned."""
    text = json.dumps(table, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % alignment)
    return text.replace(_stamp(NO_DIGEST), _stamp(xxh3_128_hexdigest(text)), 1)


def header_digest(header: bytes) -> str:
    """The digest that a header carries; empty if it has none."""
    start = header.find(_stamp("")[:-1])
    skip = len(_stamp("")) - 1
    return header[start + skip : start + skip + len(NO_DIGEST)].decode("ascii", "replace") if start >= 0 else ""


def header_is_intact(header: bytes) -> bool:
    """True if the header is, byte for byte, what its digest was taken of."""
    digest = header_digest(header)
    return xxh3_128_hexdigest(header.replace(_stamp(digest), _stamp(NO_DIGEST), 1)) == digest


def _stamp(digest: str) -> bytes:
    return f'"{HEADER_DIGEST}":"{digest}"'.encode()


def _metadata(metadata: Mapping[str, str], digests: Mapping[str, str]) -> dict[str, str]:
    if any(key == HEADER_DIGEST or key.startswith(DIGEST) for key in metadata):
        raise ValueError(f"{HEADER_DIGEST} and {DIGEST}* are kept for the pack's own checksums")
    # The header's digest comes first, so that no text of the user's is mistaken for it.
    return {HEADER_DIGEST: NO_DIGEST, **metadata, **{DIGEST + name: digest for name, digest in digests.items()}}


def _table(ordered: Sequence[PackEntry], metadata: Mapping[str, str]) -> dict[str, object]:
    table: dict[str, object] = {METADATA: metadata}
    for entry, (begin, end) in zip(ordered, _offsets(ordered), strict=True):
        if entry.name in table:
            raise ValueError(f"two entries of a pack are called {entry.name!r}")
        table[entry.name] = {"dtype": entry.dtype, "shape": list(entry.shape), "data_offsets": [begin, end]}
    return table


def _offsets(ordered: Sequence[PackEntry]) -> Iterator[tuple[int, int]]:
    begin = 0
    for entry in ordered:
        end = begin + prod(entry.shape) * _item_size(entry)
        yield begin, end
        begin = end


def _view(entry: PackEntry) -> memoryview:
    view = memoryview(entry.data)
    view = view if view.nbytes == 0 else view.cast("B")
    expected = prod(entry.shape) * _item_size(entry)
    if view.nbytes != expected:
        raise ValueError(f"{entry.name!r} has {view.nbytes} bytes, its shape {entry.shape} needs {expected}")
    return view


def _item_size(entry: PackEntry) -> int:
    size = ITEM_SIZES.get(entry.dtype)
    if size is None:
        raise ValueError(f"{entry.name!r} has dtype {entry.dtype!r}, which safetensors does not know")
    return size
