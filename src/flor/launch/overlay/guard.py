"""The last line of defence: Python's audit events, so that no write of Python's own gets past the overlay."""

from __future__ import annotations

import errno
import os
import stat as modes
import sys
from typing import Any

from flor.launch.overlay import native
from flor.launch.overlay.escapes import NAMED, Escape, Escapes
from flor.launch.overlay.opening import WRITES
from flor.launch.overlay.view import View

# Event -> which arguments are paths that it changes, each with the place of its dir_fd (None: it has none).
CHANGES: dict[str, tuple[tuple[int, int | None], ...]] = {
    "open": ((0, None),),
    "os.remove": ((0, 1),),
    "os.rmdir": ((0, 1),),
    "os.mkdir": ((0, 2),),
    "os.rename": ((0, 2), (1, 3)),
    "os.link": ((1, 3),),
    "os.symlink": ((1, 2),),
    "os.chmod": ((0, 2),),
    "os.chown": ((0, 3),),
    "os.utime": ((0, 3),),
    "os.truncate": ((0, None),),
    "os.setxattr": ((0, None),),
    "os.removexattr": ((0, None),),
    "sqlite3.connect": ((0, None),),
}
EVENTS = frozenset((*CHANGES, *NAMED))

# An audit hook is for the life of the process, so there is one for all guards; most often nobody is awake.
_awake: list[Guard] = []
_hooked: list[bool] = []


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if _awake and event in EVENTS:
        for guard in _awake:
            guard.judge(event, args)


class Guard:
    """Refuses what would change a file outside, and notes what nothing can see into."""

    def __init__(self, view: View, escapes: Escapes) -> None:
        self.view, self.escapes = view, escapes

    def start(self) -> None:
        """Judge from now on."""
        if not _hooked:
            _hooked.append(True)
            sys.addaudithook(_hook)
        _awake.append(self)

    def stop(self) -> None:
        """Judge no more."""
        if self in _awake:
            _awake.remove(self)

    def judge(self, event: str, args: tuple[Any, ...]) -> None:
        """Note a command, a connection or a signal; raise at a change outside."""
        if event in NAMED:
            self.escapes.heard(event, args)
        elif event != "open" or _writes(args):
            for place, dir_fd in CHANGES[event]:
                self._check(event, args[place], -1 if dir_fd is None else args[dir_fd])

    def _check(self, event: str, path: Any, dir_fd: int) -> None:
        """P6: raise before the system acts, unless the path is the overlay's, passes through or keeps nothing."""
        if isinstance(path, int) or (event == "sqlite3.connect" and not _is_file(path)):
            return
        whole = self._whole(path, dir_fd)
        if self.view.passes(whole) or self.view.passes(os.path.normpath(whole)):
            return
        found = native.status(whole)
        if event == "open" and found is not None and _keeps_nothing(found):
            return
        self.escapes.append(Escape("refused", f"{event} {whole}"))
        what = f"flor replay cannot redirect this {event}, and does not let it change a file outside"
        raise PermissionError(errno.EACCES, what, whole)

    def _whole(self, path: Any, dir_fd: int) -> str:
        text = os.fsdecode(path)
        if text.startswith("/"):
            return text
        origin = native.readlink(f"/proc/self/fd/{dir_fd}") if dir_fd >= 0 else native.getcwd()
        return f"{origin}/{text}"


def _writes(args: tuple[Any, ...]) -> bool:
    return isinstance(args[2], int) and bool(args[2] & WRITES)


def _is_file(database: Any) -> bool:
    text = os.fsdecode(database)
    return text not in ("", ":memory:") and not text.startswith("file:")


def _keeps_nothing(found: os.stat_result) -> bool:
    return modes.S_ISFIFO(found.st_mode) or modes.S_ISCHR(found.st_mode) or modes.S_ISSOCK(found.st_mode)
