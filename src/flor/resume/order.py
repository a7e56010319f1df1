"""What is to be resumed, from one process to the next, as JSON: one argument, or an open file if it may be long."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict, dataclass
from enum import StrEnum


class Placing(StrEnum):
    """How files that C code or other programs write are when the script begins again."""

    CHECKPOINT = "checkpoint"  # as they were at the checkpoint, as far as that is known
    BEGINNING = "beginning"  # those that the run made are not there
    LEFT = "left"  # as the run left them


@dataclass(frozen=True)
class ResumeOrder:
    """Which run goes on, and as what."""

    run: str
    store: str
    name: str | None = None
    force: bool = False
    without: tuple[str, ...] = ()  # checkpoints that could not be put in place, by their text
    kept: tuple[str, ...] = ()  # files that are copied before the script begins
    placing: Placing = Placing.CHECKPOINT

    def text(self) -> str:
        """As one word of a command line."""
        return json.dumps(asdict(self))

    def handed_on(self) -> str:
        """The number of an open file, which the program that takes this one's place inherits, with the text in it."""
        with tempfile.TemporaryFile() as file:
            file.write(self.text().encode())
            file.flush()
            descriptor = os.dup(file.fileno())
        os.set_inheritable(descriptor, True)
        return str(descriptor)

    @classmethod
    def received(cls, word: str) -> ResumeOrder:
        """What `handed_on` wrote."""
        with open(int(word), "rb") as file:
            file.seek(0)
            return cls.parse(file.read().decode())

    @classmethod
    def parse(cls, text: str) -> ResumeOrder:
        """What `text` wrote."""
        values = json.loads(text)
        lists = {name: tuple(values[name]) for name in ("without", "kept")}
        return cls(**{**values, **lists, "placing": Placing(values["placing"])})
