"""Advisory locks that end with their process, so that a reader can tell a live one from a killed one."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

from flor.store import files

_UNSUPPORTED = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}


def lock(fd: int, *, shared: bool = False) -> bool:
    """Wait for the lock and hold it until the file is closed; False where the filesystem has no locks."""
    try:
        fcntl.flock(fd, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
    except OSError as error:
        if error.errno in _UNSUPPORTED:
            return False
        raise
    return True


def try_lock(fd: int, *, shared: bool = False) -> bool:
    """Take the lock if nobody is in the way; False if somebody is, or if the filesystem has no locks."""
    try:
        fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _UNSUPPORTED or isinstance(error, BlockingIOError):
            return False
        raise
    return True


def is_held(path: Path) -> bool:
    """True if a process holds the file exclusively, or if that can't be told: nobody then deletes a live journal."""
    fd = files.open_regular(path)
    try:
        return not try_lock(fd, shared=True)
    finally:
        os.close(fd)
