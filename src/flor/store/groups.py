"""How the processes of one job agree on one run, with nothing left that could mislead the next job."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from xxhash import xxh3_128_hexdigest

from flor.store import files, forks, locks


class Membership:
    """A shared lock on the group's file: as long as one process holds one, the group is alive."""

    def __init__(self, fd: int) -> None:
        self._fd: int | None = fd
        forks.forsake_in_child(self.leave)

    def leave(self) -> None:
        """Stop being a member; the end of the process does the same."""
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)


def join(
    folder: Path, key: str, found: Callable[[], str], is_there: Callable[[str], bool], unique: bool
) -> tuple[str, Membership]:
    """The name on which the living members of the group agreed, or a new one from `found` if there are none.

    A `unique` key means one group for good: what its members agreed on holds when they are gone, too.
    """
    folder.mkdir(files.FOLDER_MODE, exist_ok=True)
    turn = _open(folder / "lock")
    try:
        locks.lock(turn)  # one process at a time decides
        return _decide(folder / xxh3_128_hexdigest(key.encode("utf-8", "surrogatepass")), found, is_there, unique)
    finally:
        os.close(turn)


def _decide(
    path: Path, found: Callable[[], str], is_there: Callable[[str], bool], unique: bool
) -> tuple[str, Membership]:
    fd = _open(path)
    try:
        # Who gets it exclusively is alone: whatever the file says was agreed by processes that are gone.
        alone = locks.try_lock(fd)
        name = _read(fd) if unique or not alone else ""
        if not name or not is_there(name):
            name = found()
            _write(fd, name)
        locks.lock(fd, shared=True)
    except BaseException:
        os.close(fd)
        raise
    return name, Membership(fd)


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, files.FILE_MODE)


def _read(fd: int) -> str:
    with suppress(UnicodeDecodeError):
        return os.pread(fd, 256, 0).decode()
    return ""


def _write(fd: int, name: str) -> None:
    os.ftruncate(fd, 0)
    os.pwrite(fd, name.encode(), 0)
