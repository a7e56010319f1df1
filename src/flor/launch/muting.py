"""Streams that say nothing for a while: a resumed script's beginning has been heard before."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Muted:
    """Drops what is written to the stream objects themselves, so that `sys.stdout` stays the object that it was."""

    def __init__(self) -> None:
        self.streams = (sys.stdout, sys.stderr)
        self.shadowed: list[Any] = []

    def install(self) -> None:
        """Be silent from now on."""
        for stream in self.streams:
            for thing in (stream, getattr(stream, "buffer", None)):
                try:
                    vars(thing)["write"] = len
                except (AttributeError, TypeError):
                    continue  # a stream without a __dict__, or none at all
                self.shadowed.append(thing)

    def remove(self) -> None:
        """Be heard again."""
        while self.shadowed:
            self.shadowed.pop().__dict__.pop("write", None)

    @contextmanager
    def originals(self) -> Iterator[None]:
        """With the streams that the script began with, whatever it has put in their place since."""
        replaced = (sys.stdout, sys.stderr)
        sys.stdout, sys.stderr = self.streams
        try:
            yield
        finally:
            sys.stdout, sys.stderr = replaced
