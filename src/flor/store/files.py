"""The few system calls that a durable file needs."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

Buffer = bytes | bytearray | memoryview

FILE_MODE = 0o600
FOLDER_MODE = 0o700


def write_all(fd: int, data: Buffer) -> None:
    """Write every byte, however many calls it takes."""
    rest = memoryview(data).cast("B")
    while rest:
        rest = rest[os.write(fd, rest) :]


def open_regular(path: Path) -> int:
    """Open a file to read it; OSError for anything but a plain file: a pipe in a store would block its reader."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "it is no plain file", str(path))
    return fd


def read_regular(path: Path, limit: int) -> bytes:
    """The first bytes of a plain file."""
    with open(open_regular(path), "rb") as file:
        return file.read(limit)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def close_quietly(fd: int) -> None:
    """Close a descriptor for which nobody is left to be told."""
    with suppress(OSError):
        os.close(fd)


def temporary(path: Path) -> Path:
    """A name beside `path` that no other process uses; it ends in `.tmp`, so leftovers are known as such."""
    return path.with_name(f"{path.name}.{os.getpid()}-{os.urandom(4).hex()}.tmp")


def create(path: Path, flags: int = 0) -> int:
    """Open a new file that only its owner may read; an existing one is FileExistsError."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | flags, FILE_MODE)


@contextmanager
def appearing(path: Path) -> Iterator[Path]:
    """A scratch name to write under; it becomes `path`, durably, when all went well, and is gone otherwise."""
    scratch = temporary(path)
    try:
        yield scratch
        scratch.rename(path)  # the guarantee: the name appears only after the bytes are on disk
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def put(path: Path, *parts: Buffer) -> None:
    """Write a file that is either there whole and durable, or not at all."""
    with appearing(path) as scratch:
        fd = create(scratch)
        try:
            for part in parts:
                write_all(fd, part)
            os.fsync(fd)
        finally:
            os.close(fd)
