"""What background logging says on stderr: calls that failed or were lost, with the line that made them."""

from __future__ import annotations

import sys

from flor.runtime.streams import plain

SHOWN = 10  # failures that are shown in full; the others are counted


def say(text: str) -> None:
    """One line of ours on stderr, kept out of the logs of a run."""
    try:
        plain(sys.stderr)(f"flor: {text}\n")
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        pass  # a stderr that is gone must not stop training


class Failures:
    """The calls of one logger that raised."""

    def __init__(self, logger: str) -> None:
        self.logger = logger
        self.count = 0

    def add(self, method: str, where: str, error: str, trace: str = "") -> None:
        """Say it now, with the caller's line; training goes on."""
        self.count += 1
        if self.count > SHOWN:
            return
        indented = "".join(f"    {line}\n" for line in trace.splitlines())
        end = f"\n{indented.rstrip()}" if indented else ""
        say(f"{self.logger}.{method}(), called at {where}, raised {error} [background-failed]{end}")

    def conclude(self) -> None:
        """Say how many there were, if not all were shown."""
        if self.count > SHOWN:
            say(f"{self.count} calls of {self.logger} raised; {SHOWN} are shown above [background-failed]")
        self.count = 0
