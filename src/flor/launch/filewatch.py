"""Which files a recorded run writes and reads, heard from Python's audit events; it changes nothing."""

from __future__ import annotations

import os
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from flor.launch.devices import is_device
from flor.launch.overlay import foreign
from flor.launch.overlay.patches import Patches

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Change(StrEnum):
    """How a path is about to change."""

    CREATE = "create"  # nothing was there: a replay begins without it
    OVERWRITE = "overwrite"
    UPDATE = "update"  # keeps what was there and adds to it or changes some of it
    REMOVE = "remove"
    MKDIR = "mkdir"
    ATTRIBUTES = "attributes"


# Event -> what happens to which argument, with the place of its dir_fd (None: it has none).
EVENTS: dict[str, tuple[tuple[Change, int, int | None], ...]] = {
    "open": (),
    "sqlite3.connect": ((Change.UPDATE, 0, None),),
    "os.remove": ((Change.REMOVE, 0, 1),),
    "os.rmdir": ((Change.REMOVE, 0, 1),),
    "os.mkdir": ((Change.MKDIR, 0, 2),),
    "os.rename": ((Change.REMOVE, 0, 2), (Change.OVERWRITE, 1, 3)),
    "os.link": ((Change.CREATE, 1, 3),),
    "os.symlink": ((Change.CREATE, 1, 2),),
    "os.truncate": ((Change.UPDATE, 0, None),),
    "os.chmod": ((Change.ATTRIBUTES, 0, 2),),
    "os.utime": ((Change.ATTRIBUTES, 0, 3),),
    "subprocess.Popen": (),
    "os.system": (),
}
COMMANDS = ("subprocess.Popen", "os.system")

FOLLOWS = {"sqlite3.connect", "os.truncate", "os.chmod", "os.utime"}  # a link at the end of the path, as open does

OnWrite = Callable[[str, str], None]
OnUnseen = Callable[[str, str], None]
OnRead = Callable[[str], None]


class FileWatch:
    """Tells of each path once a kind until `reset`; paths are absolute and without links, as in the overlay."""

    def __init__(
        self,
        on_write: OnWrite,
        on_read: OnRead | None = None,
        *,
        on_unseen: OnUnseen | None = None,
        on_printing_child: Callable[[], None] = lambda: None,
        tracker_at: Callable[[FrameType], str] = lambda frame: "",
        ignore: Sequence[Path] = (),
    ) -> None:
        self.on_write, self.on_read = on_write, on_read
        self.on_unseen = on_unseen or on_write  # a change that no Python code of this process has made
        self.on_printing_child = on_printing_child  # a program was started that shares our stdout
        self.tracker_at = tracker_at  # the tracker whose code is at work in a frame; empty if none is
        self._ignored = _ignored(ignore)
        self._told: set[tuple[str, str]] = set()
        self._written: set[str] = set()
        self._seen: set[str] = set()
        self._awake: list[bool] = []
        self._hooked = False
        self._busy = threading.local()
        self._patches = Patches()

    def start(self) -> None:
        """Listen from now on."""
        if not self._hooked:
            self._hooked = True
            sys.addaudithook(self._make_hook())
        if not self._awake:
            self._awake.append(True)

    def stop(self) -> None:
        """Listen no more; the hook stays for the life of the process, asleep."""
        self._awake.clear()
        self._patches.undo()

    def reset(self) -> None:
        """Tell of every path anew."""
        self._told.clear()
        self._written.clear()
        self._seen.clear()

    def patch_torch(self, torch: ModuleType) -> None:
        """Hear also of the files that torch opens in C++."""
        foreign.patch(torch.__name__, self._patches, self._foreign, only_writes=True)
        self._patches.spread()

    @contextmanager
    def deaf(self) -> Iterator[None]:
        """Without hearing what this thread opens: these are files that flor itself looks at."""
        before, self._busy.now = getattr(self._busy, "now", False), True
        try:
            yield
        finally:
            self._busy.now = before

    def changed(self, path: str, change: Change) -> None:
        """Tell of a change that was heard of in another way; what is no file of the run is passed over."""
        if self._awake and path not in self._written and self._is_new(path, change):
            self._written.add(path)
            self.on_unseen(path, change)

    def _make_hook(self) -> Callable[[str, tuple[Any, ...]], None]:
        # Called for every audit event of the process, of which there are many (each call of id() is one):
        # a closure over two names, and out again.
        awake, events, heard = self._awake, EVENTS, self._heard

        def hook(event: str, args: tuple[Any, ...]) -> None:
            if awake and event in events:
                heard(event, args)

        return hook

    def _foreign(self, path: Any, flags: int) -> Any:
        if self._awake:
            self._heard("open", (path, None, flags))
        return path

    def _heard(self, event: str, args: tuple[Any, ...]) -> None:
        """P2: whatever goes wrong here, the script does not hear of it."""
        if getattr(self._busy, "now", False):
            return  # what we or our listener open ourselves
        self._busy.now = True
        try:
            if event in COMMANDS:
                if _shares_stdout() and not self.tracker_at(sys._getframe(1)):
                    self.on_printing_child()
            elif event == "open":
                self._opened(args[0], args[2])
            else:
                follow = event in FOLLOWS
                for change, place, dir_fd in EVENTS[event]:
                    self._changed(change, args[place], -1 if dir_fd is None else args[dir_fd], follow)
        except Exception:
            pass
        finally:
            self._busy.now = False

    def _opened(self, path: Any, flags: int) -> None:
        if isinstance(path, int):
            return
        if flags & WRITES:
            self._changed(Change.OVERWRITE if flags & os.O_TRUNC else Change.UPDATE, path, -1, follow=True)
        elif self.on_read is not None:
            self._read(path)

    def _read(self, path: Any) -> None:
        text = os.fsdecode(path)
        if text.startswith("/"):
            if text in self._seen:
                return  # the dear part is done once for a spelling
            self._seen.add(text)
        whole = os.path.realpath(text)
        if self._is_new(whole, "read") and self.on_read is not None and Path(whole).is_file():
            tracker = self.tracker_at(sys._getframe(1))
            if not tracker or tracker not in Path(whole).parts:  # else it is the tracker's own
                self.on_read(whole)

    def _changed(self, change: Change, path: Any, dir_fd: int, follow: bool) -> None:
        if isinstance(path, int) or path in ("", ":memory:"):
            return
        whole = self._whole(os.fsdecode(path), dir_fd, follow)
        there = os.path.lexists(whole)
        if change in (Change.OVERWRITE, Change.UPDATE) and not there:
            change = Change.CREATE
        if (change in (Change.MKDIR, Change.CREATE)) == there:
            return  # heard before the call, which will fail: `exist_ok`, `missing_ok` and `touch` are the usual reasons
        if self._is_new(whole, change):
            self._written.add(whole)
            self.on_write(whole, change)

    def _whole(self, path: str, dir_fd: int, follow: bool) -> str:
        if dir_fd >= 0 and not path.startswith("/"):
            path = f"{os.readlink(f'/proc/self/fd/{dir_fd}')}/{path}"
        if follow:
            return os.path.realpath(path)
        head, tail = os.path.split(path.rstrip("/"))
        return os.path.join(os.path.realpath(head), tail)

    def _is_new(self, path: str, kind: str) -> bool:
        if (path, kind) in self._told or path.startswith(self._ignored) or path.endswith((".pyc", ".so")):
            return False
        if is_device(path):
            return False
        if "/site-packages/" in path or "/__pycache__/" in path:
            return False
        self._told.add((path, kind))
        return True


def _shares_stdout() -> bool:
    """True unless the program about to be started by subprocess has a stdout of its own."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != "_execute_child":
        frame = frame.f_back  # type: ignore[assignment]
    return frame is None or bool(frame.f_locals.get("c2pwrite", -1) == -1)


def _ignored(more: Sequence[Path]) -> tuple[str, ...]:
    """What is no file of the run: Python itself, and what the caller names."""
    python = (sys.prefix, sys.base_prefix, sysconfig.get_path("stdlib"))
    folders = [os.path.realpath(folder) for folder in (*python, *map(str, more))]
    return tuple(f"{folder}/" for folder in folders if folder != "/")
