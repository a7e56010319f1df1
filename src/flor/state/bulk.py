"""Blobs made from bytes that nobody changes."""

from __future__ import annotations

from flor.state.snapshot import Blob


def blob_from(data: bytes | memoryview, dtype: str = "U8") -> Blob:
    """A blob over private or immutable bytes."""
    flat = memoryview(data).cast("B") if len(data) else memoryview(b"")
    return Blob(len(flat), dtype, (len(flat),), flat)
