"""The time stamps and process ids that `logging` puts into its records."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from flor.model.records import Atom
from flor.runtime import current
from flor.runtime.readings import Given, Options, Reading

FACTS = ("created", "msecs", "relativeCreated", "process", "thread")


class Stamp(Reading):
    """What a new log record says of its time and its process."""

    plain = False
    told = False  # how often a library logs is its own affair: one that is not in the record is no news

    def ask(self, args: Given, options: Options) -> tuple[Any, Atom]:
        """As the record has it."""
        values = vars(args[0])
        return None, json.dumps([values.get(name) for name in FACTS])

    def answer(self, kept: Atom, args: Given, options: Options) -> Any:
        """As the record of then had it."""
        for name, value in zip(FACTS, json.loads(str(kept)), strict=True):
            if name in vars(args[0]):
                setattr(args[0], name, value)


class LogStamps:
    """Follows the making of log records."""

    def __init__(self, module: Any) -> None:
        self.owner = module.LogRecord
        self.stamp = Stamp(lambda record: None, "logging", "LogRecord")

    def install(self) -> Callable[[], None]:
        """Be told of each; what puts the class's own method back."""
        owner, real, stamp = self.owner, self.owner.__init__, self.stamp

        @functools.wraps(real)
        def made(record: Any, *args: Any, **options: Any) -> None:
            real(record, *args, **options)
            inputs = current.inputs
            if inputs is None:
                return
            try:
                inputs.read(stamp, (record,), {}, _outside(sys._getframe(1)))
            except Exception:  # never harm training
                pass

        owner.__init__ = made

        def undo() -> None:
            owner.__init__ = real

        return undo


def _outside(frame: FrameType) -> FrameType:
    """The frame that the call of a logger came from, as far as that can be told."""
    while frame.f_back is not None and frame.f_globals.get("__name__") == "logging":
        frame = frame.f_back
    return frame
