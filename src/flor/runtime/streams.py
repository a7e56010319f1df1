"""stdout and stderr: passed on untouched, and kept piece by piece."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TextIO

from flor.model.records import Channel
from flor.runtime.logbook import Logbook


class StreamWatch:
    """Shadows `write` on the stream objects themselves, so that `sys.stdout` stays the object that it was."""

    def __init__(self, logbook: Logbook) -> None:
        self.logbook = logbook
        self.watched: list[TextIO] = []

    def install(self) -> None:
        """Watch what `sys.stdout` and `sys.stderr` are now."""
        for channel, stream in ((Channel.STDOUT, sys.stdout), (Channel.STDERR, sys.stderr)):
            if stream is not None:
                self._watch(channel, stream)

    def remove(self) -> None:
        """Let the streams be as they were."""
        for stream in self.watched:
            stream.__dict__.pop("write", None)
        self.watched.clear()

    def _watch(self, channel: Channel, stream: TextIO) -> None:
        try:
            stream.write = self._writer(channel, stream.write)  # type: ignore[method-assign]
        except (AttributeError, TypeError):
            return  # a stream without a __dict__: its pieces are not kept
        self.watched.append(stream)

    def _writer(self, channel: Channel, write: Callable[[str], int]) -> Callable[[str], int]:
        book, keep, frame_at = self.logbook, self.logbook.text, sys._getframe

        def watched(text: str, /) -> int:
            written = write(text)
            if text and isinstance(text, str):
                try:
                    keep(channel, text, frame_at(1))
                except Exception:  # never harm training
                    book.lost += 1
            return written

        watched.__name__ = watched.__qualname__ = "write"
        self.logbook.stand_ins.append(watched.__code__)
        return watched


def plain(stream: TextIO) -> Callable[[str], Any]:
    """The stream's own `write`, past any watch."""
    return type(stream).write.__get__(stream)  # type: ignore[no-any-return]
