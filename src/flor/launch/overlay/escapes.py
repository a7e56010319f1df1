"""What replay could not keep in its folder: started programs, connections, signals to other processes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

COMMANDS = ("os.system", "os.exec", "os.posix_spawn", "os.spawn", "subprocess.Popen", "pty.spawn")
SIGNALS = ("os.kill", "os.killpg")
CONNECTIONS = ("socket.connect", "socket.sendto", "socket.sendmsg")
NAMED = frozenset((*COMMANDS, *SIGNALS, *CONNECTIONS))
OWN_SOCKETS = "/pymp-"  # in which multiprocessing talks to its own children


class Escape(NamedTuple):
    """Something the overlay cannot see into or had to refuse: what it was, and which command or file."""

    what: str
    detail: str


class Escapes(list[Escape]):
    """The escapes of this process; its forked children write theirs to a file."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path, self.pid = path, os.getpid()

    def append(self, escape: Escape) -> None:
        """One more; a note of a child that can't be kept is left out, since nothing may fail here."""
        if os.getpid() == self.pid:
            super().append(escape)
            return
        with suppress(OSError):
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            os.write(descriptor, json.dumps(escape).encode() + b"\n")
            os.close(descriptor)

    def heard(self, event: str, args: tuple[Any, ...]) -> None:
        """An audit event of a command, a connection or a signal."""
        detail = DESCRIBED[event](event, args)
        if detail:
            self.append(Escape(event, detail))

    def all(self) -> list[Escape]:
        """Those of this process and of its children."""
        try:
            lines = self.path.read_text().splitlines()
        except OSError:
            lines = []
        return [*self, *(Escape(*json.loads(line)) for line in lines)]


def describe(event: str, args: tuple[Any, ...]) -> str:
    """A started program, with its arguments."""
    command = args[1] if event != "os.system" and len(args) > 1 else args[0]
    if isinstance(command, (list, tuple)):
        return " ".join(os.fsdecode(part) for part in command)
    return os.fsdecode(command) if isinstance(command, (str, bytes, os.PathLike)) else repr(command)


def _receiver(event: str, args: tuple[Any, ...]) -> str:
    """Another process that gets a signal; empty for this one and those that it has started."""
    number, sign = int(args[0]), int(args[1])
    own = (os.getpid(), os.getpgrp(), 0) if event == "os.killpg" else (os.getpid(), 0)
    return "" if not sign or number in own or _is_descendant(abs(number)) else f"{number} with signal {sign}"


def _is_descendant(number: int) -> bool:
    """True if this process, or one that it has started, started that one."""
    while number > 1:
        if number == os.getpid():
            return True
        try:
            number = int(Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return False
    return False


def _address(event: str, args: tuple[Any, ...]) -> str:
    """Where a connection goes; empty for the sockets of multiprocessing."""
    address = args[1]
    if isinstance(address, tuple) and len(address) >= 2:
        return f"{address[0]}:{address[1]}"
    text = os.fsdecode(address) if isinstance(address, (str, bytes)) else ""
    return "" if OWN_SOCKETS in text or not text.strip("\0") else text


DESCRIBED: dict[str, Callable[[str, tuple[Any, ...]], str]] = {
    **dict.fromkeys(COMMANDS, describe),
    **dict.fromkeys(SIGNALS, _receiver),
    **dict.fromkeys(CONNECTIONS, _address),
}
