"""Bytes named by their content: wherever they lie, and of a copy while it is made, out of the processor's cache."""

from __future__ import annotations

from collections.abc import Iterable

import xxhash

STEP = 1 << 24  # bytes at once: the interpreter's lock is asked for after each


class Hashing:
    """xxh3-128 of some bytes, from their beginning on as far as it has come; only one thread at a time goes on."""

    def __init__(self, data: memoryview) -> None:
        self.data = data
        self.done = 0  # bytes
        self._hash = xxhash.xxh3_128()

    def go_on(self, start: int, count: int) -> None:
        """These bytes are there now; if they are the next ones, they are hashed."""
        if start == self.done:
            self._hash.update(self.data[start : start + count])  # releases the GIL
            self.done += count

    def name(self) -> str:
        """The name of all of them; what is not hashed yet is hashed now."""
        while self.done < len(self.data):
            self.go_on(self.done, min(STEP, len(self.data) - self.done))
        return self._hash.hexdigest()


def content_of(pieces: Iterable[memoryview]) -> str:
    """The name of bytes that lie in several pieces."""
    hashed = xxhash.xxh3_128()
    for piece in pieces:
        for start in range(0, len(piece), STEP):
            hashed.update(piece[start : start + STEP])
    return hashed.hexdigest()
