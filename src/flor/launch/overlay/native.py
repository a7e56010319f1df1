"""The file functions of the operating system, kept as they were before any patch."""

from __future__ import annotations

import builtins
import os
import stat as modes
from typing import Any

OPEN = builtins.open
OS = {name: getattr(os, name) for name in dir(os) if callable(getattr(os, name)) and not name.startswith("_")}

access, chdir, chmod, close, getcwd = os.access, os.chdir, os.chmod, os.close, os.getcwd
link, listdir, lstat, mkdir, open = os.link, os.listdir, os.lstat, os.mkdir, os.open  # noqa: A001
read, readlink, rename, rmdir, scandir = os.read, os.readlink, os.rename, os.rmdir, os.scandir
stat, symlink, unlink, utime, write = os.stat, os.symlink, os.unlink, os.utime, os.write

CHUNK = 4 << 20


def status(path: str) -> os.stat_result | None:
    """The path's own status, or None if there is nothing."""
    try:
        return lstat(path)
    except (OSError, ValueError):
        return None


def is_directory(path: str) -> bool:
    """True if the path itself is a folder."""
    found = status(path)
    return found is not None and modes.S_ISDIR(found.st_mode)


def call(function: Any, real: Any, shown: Any, /, *rest: Any, **options: Any) -> Any:
    """The native call on the real path; an error of it names the path that the script gave."""
    try:
        return function(real, *rest, **options)
    except OSError as error:
        if error.filename is not None:
            error.filename = shown
        raise


def trouble(code: int, shown: Any) -> OSError:
    """The error that the operating system would have raised."""
    return OSError(code, os.strerror(code), shown)


def copy_bytes(source: str, target: str) -> None:
    """A new file with the same content."""
    reading = open(source, os.O_RDONLY | os.O_CLOEXEC)
    try:
        writing = open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            while chunk := read(reading, CHUNK):
                left = memoryview(chunk)
                while left:
                    left = left[write(writing, left) :]
        finally:
            close(writing)
    finally:
        close(reading)
