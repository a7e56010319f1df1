"""What is to be resumed, from one process to the next, as JSON in an environment variable's stead: one argument."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class ResumeOrder:
    """Which run goes on, and as what."""

    run: str
    store: str
    name: str | None = None
    force: bool = False
    without: tuple[str, ...] = ()  # checkpoints that could not be put in place, by their text

    def text(self) -> str:
        """As one word of a command line."""
        return json.dumps(asdict(self))

    @classmethod
    def parse(cls, text: str) -> ResumeOrder:
        """What `text` wrote."""
        values = json.loads(text)
        return cls(**{**values, "without": tuple(values["without"])})
