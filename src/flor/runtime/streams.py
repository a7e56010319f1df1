"""stdout and stderr: passed on untouched, and kept piece by piece."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TextIO

from flor.model.records import Channel, Tag
from flor.runtime.interrupts import deliver, lets_through, pending
from flor.runtime.logbook import Logbook


class StreamWatch:
    """Shadows methods on the stream objects themselves, so that `sys.stdout` stays the object that it was."""

    def __init__(self, logbook: Logbook) -> None:
        self.logbook = logbook
        self.shadowed: list[tuple[Any, str]] = []

    def install(self) -> None:
        """Watch what `sys.stdout` and `sys.stderr` are now."""
        for channel, stream in ((Channel.STDOUT, sys.stdout), (Channel.STDERR, sys.stderr)):
            if stream is not None:
                self._watch(channel, stream)

    def remove(self) -> None:
        """Let the streams be as they were."""
        for thing, name in self.shadowed:
            thing.__dict__.pop(name, None)
        self.shadowed.clear()

    def _watch(self, channel: Channel, stream: TextIO) -> None:
        watch = _Watched(self.logbook, channel, stream)
        self._shadow(stream, "write", watch.write)
        if channel is Channel.STDOUT:
            self.logbook.write_stdout = watch.write
        buffer = getattr(stream, "buffer", None)
        if buffer is not None:
            self._shadow(stream, "flush", watch.flush)
            self._shadow(buffer, "write", watch.write_bytes)

    def _shadow(self, thing: Any, name: str, function: Callable[..., Any]) -> None:
        try:
            setattr(thing, name, function)
        except (AttributeError, TypeError):
            return  # an object without a __dict__: its pieces are not kept
        self.shadowed.append((thing, name))


class _Watched:
    """The stand-ins for one stream's methods; text that goes down to the buffer is kept once, as text."""

    def __init__(self, logbook: Logbook, channel: Channel, stream: TextIO) -> None:
        buffer = getattr(stream, "buffer", None)
        own_write, own_flush, raw_write = stream.write, stream.flush, getattr(buffer, "write", None)
        frame_at = sys._getframe
        inside = [0]  # how many of the text layer's own calls are under way

        def keep(text: str) -> None:
            try:
                logbook.text(channel, text, frame_at(2))
            except Exception:  # never harm training
                logbook.lost += 1

        def keep_bytes(data: Any) -> None:
            try:
                logbook.add(channel, "", (Tag.STR, bytes(data)), frame_at(2))
            except Exception:  # never harm training
                logbook.lost += 1

        @lets_through
        def write(text: str, /) -> int:
            inside[0] += 1
            try:
                written = own_write(text)
            finally:
                inside[0] -= 1
            if text and isinstance(text, str):
                keep(text)
                if pending:
                    deliver()
            return written

        @lets_through
        def flush() -> None:
            inside[0] += 1
            try:
                own_flush()
            finally:
                inside[0] -= 1

        @lets_through
        def write_bytes(data: Any, /) -> Any:
            written = raw_write(data)  # type: ignore[misc]
            if not inside[0]:
                keep_bytes(data)
                if pending:
                    deliver()
            return written

        write_bytes.__name__ = write_bytes.__qualname__ = "write"
        write.__qualname__, flush.__qualname__ = "write", "flush"
        self.write, self.flush, self.write_bytes = write, flush, write_bytes
        logbook.stand_ins += [f.__code__ for f in (write, flush, write_bytes, keep, keep_bytes)]


def plain(stream: TextIO) -> Callable[[str], Any]:
    """The stream's own `write`, past any watch."""

    def write(text: str) -> None:
        buffer = getattr(stream, "buffer", None)
        shadow = vars(buffer).pop("write", None) if hasattr(buffer, "__dict__") else None
        try:
            type(stream).write(stream, text)
            type(stream).flush(stream)
        finally:
            if shadow is not None:
                vars(buffer)["write"] = shadow

    return write
