"""Keeps stdout quiet while a replay is on its way to its part, so that the parts together print what one run prints."""

from __future__ import annotations

import sys
from typing import Any


class Gate:
    """Stands before the stream's own methods; `sys.stdout` stays the object that it was."""

    def __init__(self) -> None:
        self.open = False

    def install(self) -> None:
        """Be asked from now on."""
        stream = sys.stdout
        for thing in (stream, getattr(stream, "buffer", None)):
            if hasattr(thing, "__dict__"):
                self._stand_before(thing)

    def _stand_before(self, thing: Any) -> None:
        real = thing.write

        def write(text: Any, /) -> Any:
            return real(text) if self.open else len(text)

        thing.write = write
