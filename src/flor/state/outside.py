"""What of a handle is state after all: a bar's count, the place in a file that is read, a child that lives."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any


def facts(obj: Any, what: str) -> dict[str, int]:
    """The numbers that a handle should have again."""
    if what == "progress bar" and type(getattr(obj, "n", None)) is int:
        return {"n": obj.n}
    if what == "file":
        _flush(obj)
        place = _place(obj)
        return {} if place is None else {"place": place}
    return {}


def put(obj: Any, saved: dict[str, Any]) -> None:
    """Give a handle those numbers."""
    if "n" in saved and hasattr(obj, "n"):
        obj.n = saved["n"]
    if "place" in saved and _place(obj) not in (None, saved["place"]):
        obj.seek(saved["place"])


def _place(file: Any) -> int | None:
    """How far a file has been read; None if it is written to, or does not tell."""
    with contextlib.suppress(Exception):
        if not file.closed and file.readable() and not file.writable() and file.seekable() and file.fileno() > 2:
            return int(file.tell())
    return None


def _flush(file: Any) -> None:
    """Let a file on disk hold what was written to it: what waits in a buffer would be in no checkpoint."""
    with contextlib.suppress(Exception):
        inner = file.buffer if type(file) is io.TextIOWrapper else file
        plain = type(inner) in (io.BufferedWriter, io.BufferedRandom) and type(inner.raw) is io.FileIO
        if plain and stat.S_ISREG(os.fstat(file.fileno()).st_mode):  # a pipe might block
            file.flush()


def busy(obj: Any, project: Callable[[str], bool]) -> str:
    """Why a handle's state can neither be saved nor left alone; empty if it can."""
    if isinstance(obj, threading.Thread):
        return "a thread of the script's is at work" if _runs_script(obj, project) else ""
    if isinstance(obj, subprocess.Popen):
        return "a child process is at work" if obj.returncode is None else ""
    processes = sys.modules.get("multiprocessing.process")
    if processes is not None and isinstance(obj, processes.BaseProcess):
        child = getattr(obj, "_popen", None)
        return "a child process is at work" if child is not None and child.returncode is None else ""
    database = sys.modules.get("sqlite3")
    if database is not None and isinstance(obj, database.Connection):
        return "rows of a database were changed" if _changes(obj) else ""
    return ""


def _runs_script(thread: threading.Thread, project: Callable[[str], bool]) -> bool:
    if not thread.is_alive() or thread is threading.current_thread() or thread is threading.main_thread():
        return False
    target = getattr(thread, "_target", None)
    return project(type(thread).__module__) or project(str(getattr(target, "__module__", "")))


def _changes(connection: Any) -> int:
    with contextlib.suppress(Exception):  # it is closed, or another thread's
        return int(connection.total_changes)
    return 0
