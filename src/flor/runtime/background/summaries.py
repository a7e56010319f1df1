"""A lane for torch's SummaryWriter: another process has its event file, and everything that is written goes there."""

from __future__ import annotations

import atexit
import inspect
import os
import sys
import time
from functools import cache
from typing import Any

from flor.runtime import current
from flor.runtime.background.calls import Call, here
from flor.runtime.background.messages import CLOSE, EVENT, OPEN, Opening
from flor.runtime.background.saying import say
from flor.runtime.background.server import Server
from flor.runtime.background.snapshots import PLAIN

MODULE = "torch.utils.tensorboard.writer"
ELSEWHERE = frozenset(
    (
        "add_scalar", "add_histogram", "add_histogram_raw", "add_image", "add_images", "add_image_with_boxes",
        "add_video", "add_audio", "add_text", "add_tensor", "add_pr_curve", "add_pr_curve_raw", "add_mesh",
    )
)  # fmt: skip
"""What needs only its arguments; graphs, figures and what makes files of its own are done in training."""


class Forwarder:
    """Stands for the writer of an event file: the events of calls that are done here go the same way as the others."""

    def __init__(self, real: Any, server: Server, number: int) -> None:
        self.real = real
        self.server = server
        self.number = number
        self.told = False

    def get_logdir(self) -> Any:
        """The folder."""
        return self.real.get_logdir()

    def add_event(self, event: Any) -> None:
        """Send an event that was made here."""
        if self.server.process == os.getpid():
            self.server.send(self.number, EVENT, (event.SerializeToString(),), {}, here())
        elif not self.told:
            self.told = True
            say("a forked process logs to a SummaryWriter that was made before it: these events are lost [calls-lost]")

    def flush(self) -> None:
        """Wait until everything is written."""
        if self.server.process == os.getpid():
            self.server.wait()

    def close(self) -> None:
        """Wait, and close the file on both sides."""
        if self.server.process == os.getpid():
            self.server.send(self.number, CLOSE, (), {}, here())
            self.server.wait()
            self.server.openings.pop(self.number, None)
        self.real.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


class SummaryLane:
    """The calls of one SummaryWriter."""

    def __init__(self, writer: Any, forwarder: Forwarder) -> None:
        self.writer = writer
        self.forwarder = forwarder
        self.server = forwarder.server

    def send(self, call: Call) -> bool:
        """Send what can be done elsewhere, with the time of the call."""
        if call.method not in ELSEWHERE or self.server.process != os.getpid():
            return False
        args, kwargs = with_time(call)
        self.server.send(self.forwarder.number, call.method, args, kwargs, call.where)
        return True

    def wait(self) -> None:
        """Return once everything is written."""
        self.forwarder.flush()

    def close(self) -> None:
        """Wait; the writer's own `close` closes the file."""
        self.forwarder.flush()


def with_time(call: Call) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments, with the time of the call where none is given."""
    args, place = call.args, place_of_time(call.method)
    if len(args) > place:
        return (args if args[place] is not None else (*args[:place], time.time(), *args[place + 1 :])), call.kwargs
    if call.kwargs.get("walltime") is None:
        return args, {**call.kwargs, "walltime": time.time()}
    return args, call.kwargs


@cache
def place_of_time(method: str) -> int:
    """Which argument of torch's own method is the time, not counting the writer."""
    own = getattr(sys.modules[MODULE].SummaryWriter, method)
    return list(inspect.signature(own).parameters).index("walltime") - 1


def lane_of(writer: Any) -> SummaryLane | None:
    """The lane of a writer that is open; it moves to the other process now if it has not. None if it cannot."""
    files: Any = getattr(writer, "file_writer", None)
    if files is None and getattr(writer, "all_writers", False) is None:
        files = writer._get_file_writer()  # closed before: it opens a new file, as ever
    events = getattr(files, "event_writer", None)
    if type(events) is Forwarder:
        return SummaryLane(writer, events)
    opening = opening_of(writer, events) if os.name == "posix" else None
    if opening is None:
        return None
    server = server_of_process()
    number = len(server.openings) + 1 if not server.openings else max(server.openings) + 1
    server.openings[number] = opening
    files.event_writer = forwarder = Forwarder(events, server, number)
    server.send(number, OPEN, tuple(opening), {}, here())
    return SummaryLane(writer, forwarder)


def opening_of(writer: Any, events: Any) -> Opening | None:
    """How another process goes on with a writer's file, or None if it is not torch's own or not a local file."""
    tensorboard = sys.modules.get(MODULE)
    path = getattr(events, "_file_name", None)
    if tensorboard is None or not isinstance(writer, tensorboard.SummaryWriter) or not isinstance(path, str):
        return None
    events.flush()
    if not os.path.isfile(path):
        return None
    names = ("log_dir", "purge_step", "max_queue", "flush_secs", "filename_suffix", "default_bins")
    attributes: dict[str, Any] = {name: getattr(writer, name, None) for name in names}
    attributes["log_dir"] = os.fspath(writer.log_dir)
    simple = all(type(value) in PLAIN for name, value in attributes.items() if name != "default_bins")
    return Opening(os.path.abspath(path), attributes, os.path.getsize(path)) if simple else None


def server_of_process() -> Server:
    """The server of this process, started if there is none: one for all writers."""
    server: Server | None = current.background
    if server is None or server.process != os.getpid():
        server = current.background = Server()
        atexit.register(server.stop)
        server.start()
    return server
