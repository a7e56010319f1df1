"""What is known of a handle and can be put back: whether a lock is held, a file's place and content, a child's life."""

from __future__ import annotations

import contextlib
import io
import os
import re
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

from flor.errors import RestoreMismatch

_DEPTH = re.compile(r"owner=(\d+) count=(\d+)")


def facts(obj: Any, what: str, *, own: bool) -> dict[str, Any]:
    """What a handle should have again; `own` if it is the project's and not a part of a library's object."""
    if what == "lock":
        return {"held": depth(obj)} if own else {}
    if what == "executor":
        return {"closed": bool(getattr(obj, "_shutdown", getattr(obj, "_state", "RUN") != "RUN"))}
    if what == "event loop":
        return {"closed": bool(obj.is_closed())}
    return _of_file(obj) if what == "file" else {}


def _of_file(file: Any) -> dict[str, Any]:
    if getattr(file, "closed", False) is True:
        return {"closed": True}
    _flush(file)
    known = {"place": _place(file), "at": _place(file, written=True)}
    return {"closed": False, **{name: place for name, place in known.items() if place is not None}}


def put(obj: Any, saved: dict[str, Any], what: str) -> None:
    """Give a handle those facts; raises where it can't have them."""
    if "held" in saved:
        _hold(obj, saved["held"])
    elif what == "file":
        _close(obj, closed=saved.get("closed", False))
    elif "closed" in saved and facts(obj, what, own=True) != {"closed": saved["closed"]}:
        state = "closed" if saved["closed"] else "open"
        raise RestoreMismatch(f"the {what} was {state} then, and is not now")
    if "place" in saved and _place(obj) is not None:
        _seek(obj, saved["place"])
    elif "at" in saved and _place(obj, written=True) is not None:
        _seek(obj, saved["at"])


def _seek(file: Any, place: int) -> None:
    """Go there by way of the end: what was read ahead may no longer be in the file."""
    file.seek(0, os.SEEK_END)
    file.seek(place)


def depth(lock: Any) -> int:
    """How often this thread holds a lock; a plain lock does not say whose it is."""
    if type(lock) is type(threading.Lock()):
        return int(lock.locked())
    found = _DEPTH.search(repr(lock))
    return int(found[2]) if found and int(found[1]) == threading.get_ident() else 0


def _hold(lock: Any, wanted: int) -> None:
    for _ in range(wanted - depth(lock)):
        lock.acquire(blocking=False)
    for _ in range(depth(lock) - wanted):
        lock.release()


def _close(file: Any, *, closed: bool) -> None:
    now = getattr(file, "closed", False) is True
    if closed and not now:
        file.close()
    elif now and not closed:
        raise RestoreMismatch("the file was open then, and is closed now")


def _place(file: Any, *, written: bool = False) -> int | None:
    """How far a file has been read, or where it is `written` next; None if that is not so, or it does not tell."""
    with contextlib.suppress(Exception):
        if not file.closed and file.writable() is written and file.seekable() and file.fileno() > 2:
            return int(file.tell())
    return None


def is_untold(file: Any) -> bool:
    """True for a file that is read and does not tell how far: a pipe, or a file of text that `next` was called on."""
    with contextlib.suppress(Exception):
        return (
            not file.closed and file.readable() and not file.writable() and file.fileno() > 2 and _place(file) is None
        )
    return False


def _flush(file: Any) -> None:
    """Let a file on disk hold what was written to it: what waits in a buffer would be in no checkpoint."""
    with contextlib.suppress(Exception):
        inner = file.buffer if type(file) is io.TextIOWrapper else file
        plain = type(inner) in (io.BufferedWriter, io.BufferedRandom) and type(inner.raw) is io.FileIO
        if plain and stat.S_ISREG(os.fstat(file.fileno()).st_mode):  # a pipe might block
            file.flush()


def busy(obj: Any, what: str, project: Callable[[str], bool]) -> str:
    """Why a handle's state can neither be saved nor left alone; empty if it can."""
    if isinstance(obj, threading.Thread):
        return "a thread of the script's is at work" if _runs_script(obj, project) else ""
    if isinstance(obj, subprocess.Popen):
        return "a child process is at work" if obj.returncode is None else ""
    processes = sys.modules.get("multiprocessing.process")
    if processes is not None and isinstance(obj, processes.BaseProcess):
        child = getattr(obj, "_popen", None)
        return "a child process is at work" if child is not None and child.returncode is None else ""
    if what == "database connection":
        return "rows of a database were changed" if _changes(obj) else ""
    if what == "event loop":
        return "calls wait in the event loop" if getattr(obj, "_ready", ()) or getattr(obj, "_scheduled", ()) else ""
    if what == "temporary folder":
        return "the files of a temporary folder are in no checkpoint" if _has_files(obj) else ""
    return ""


def _has_files(folder: Any) -> bool:
    try:
        return bool(os.listdir(folder.name))
    except OSError:
        return False


def has_ended(obj: Any) -> bool:
    """True for a thread or a process that is not at work: its attributes are all that there is of it."""
    if isinstance(obj, threading.Thread):
        return not obj.is_alive()
    if isinstance(obj, subprocess.Popen):
        return obj.returncode is not None
    processes = sys.modules.get("multiprocessing.process")
    if processes is None or not isinstance(obj, processes.BaseProcess):
        return False
    child = getattr(obj, "_popen", None)
    return child is None or child.returncode is not None


def _runs_script(thread: threading.Thread, project: Callable[[str], bool]) -> bool:
    if not thread.is_alive() or thread is threading.current_thread() or thread is threading.main_thread():
        return False
    target = getattr(thread, "_target", None)
    return project(type(thread).__module__) or project(str(getattr(target, "__module__", "")))


def _changes(connection: Any) -> int:
    with contextlib.suppress(Exception):  # it is closed, or another thread's
        return int(connection.total_changes)
    return 0
