"""Large files written past the page cache: the processor copies nothing twice, and training keeps its cores."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
from collections.abc import Sequence
from pathlib import Path

from flor.store import files
from flor.store.files import Buffer

BLOCK = 4096  # offsets, lengths and addresses of a direct write are multiples of this
CHUNK = 4 << 20  # bytes a write: the copy into the chunk takes less than a millisecond
STRAIGHT = 1 << 20  # bytes: larger parts are written from where they are, if they lie at whole blocks
STRETCH = 16 << 20  # bytes of such a write
WORTH = 1 << 20  # smaller files go through the page cache: that is over sooner
DIRECT = getattr(os, "O_DIRECT", 0)  # where the system has no such flag, all goes through the page cache
_NOT_DIRECT = {errno.EINVAL, errno.EOPNOTSUPP}


def put(path: Path, parts: Sequence[Buffer]) -> None:
    """Write a file that is either there whole and durable, or not at all; directly, if the filesystem can."""
    if sum(memoryview(part).nbytes for part in parts) < WORTH:
        files.put(path, *parts)
        return
    with files.appearing(path) as scratch:
        fd = _open(scratch)
        try:
            _DirectFile(fd).write(parts)
            os.fsync(fd)
        finally:
            os.close(fd)


def _open(path: Path) -> int:
    try:
        return files.create(path, DIRECT)
    except OSError as error:
        if error.errno not in _NOT_DIRECT:
            raise
    path.unlink(missing_ok=True)  # some filesystems refuse the flag only when the file is there
    return files.create(path)


def _address(part: memoryview) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(part))


class _DirectFile:
    """Fills an aligned chunk and writes it, block by block; the last block is padded and cut off again."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.chunk = mmap.mmap(-1, CHUNK)  # page-aligned, and shared: a fork beside a direct write does not copy it
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.chunk))
        self.filled = 0
        self.offset = 0

    def write(self, parts: Sequence[Buffer]) -> None:
        """All parts, one behind the other."""
        for part in parts:
            view = memoryview(part)
            self._add(view.cast("B") if view.nbytes else memoryview(b""))
        total = self.offset + self.filled
        padding = -self.filled % BLOCK
        self.chunk[self.filled : self.filled + padding] = bytes(padding)
        self.filled += padding
        self._flush()
        os.ftruncate(self.fd, total)

    def _add(self, rest: memoryview) -> None:
        rest = self._straight(rest)
        while rest:
            count = min(len(rest), CHUNK - self.filled)
            self._copy(rest[:count])
            self.filled += count
            rest = rest[count:]
            if self.filled == CHUNK:
                self._flush()

    def _straight(self, part: memoryview) -> memoryview:
        """Write the whole blocks of a part from where it is, if it lies as a direct write needs it; what is left."""
        if part.readonly or len(part) < STRAIGHT or self.filled % BLOCK or _address(part) % BLOCK:
            return part
        self._flush()
        whole = len(part) - len(part) % BLOCK
        for at in range(0, whole, STRETCH):
            self._write_out(part[at : min(at + STRETCH, whole)])
        return part[whole:]

    def _copy(self, part: memoryview) -> None:
        if part.readonly:
            self.chunk[self.filled : self.filled + len(part)] = part
        else:  # without the interpreter's lock, which training may want
            ctypes.memmove(self.address + self.filled, _address(part), len(part))

    def _flush(self) -> None:
        self._write_out(memoryview(self.chunk)[: self.filled])
        self.filled = 0

    def _write_out(self, rest: memoryview) -> None:
        while rest:
            done = self._pwrite(rest)
            self.offset += done
            rest = rest[done:]
            if done % BLOCK:
                self._through_the_cache()  # a short write has left the alignment

    def _pwrite(self, data: memoryview) -> int:
        try:
            return os.pwrite(self.fd, data, self.offset)
        except OSError as error:
            if error.errno not in _NOT_DIRECT or not self._is_direct():
                raise
        self._through_the_cache()
        return os.pwrite(self.fd, data, self.offset)

    def _is_direct(self) -> bool:
        return bool(fcntl.fcntl(self.fd, fcntl.F_GETFL) & DIRECT)

    def _through_the_cache(self) -> None:
        """From now on as any other file."""
        flags = fcntl.fcntl(self.fd, fcntl.F_GETFL)
        fcntl.fcntl(self.fd, fcntl.F_SETFL, flags & ~DIRECT)
