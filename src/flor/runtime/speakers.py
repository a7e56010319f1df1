"""Whose words are written: the script's own, or those of a library that may tell times, process ids and paths."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from types import FrameType
from typing import Any

from flor.model.records import Channel
from flor.model.trackers import PACKAGES

LIBRARY = "library"
_NUMBER = re.compile(r"\d")
_LOGGING = logging.__file__


class Speakers:
    """Tells by the file of the code that speaks, never by the name of a logger."""

    def __init__(
        self, package_of: Callable[[str], str] = lambda file: "", frameworks: AbstractSet[str] = frozenset()
    ) -> None:
        self.package_of = package_of  # the installed package that a file belongs to; empty for the project's files
        self.frameworks = frameworks
        self._files: dict[str, str] = {}

    def channel(self, record: Any, message: str) -> Channel:
        """The channel of a record of `logging`, by the file of the frame that logged.

        A framework that trains logs the training's values: with a number in it, its record is as one of the script's.
        """
        speaker = self._speaker(record.pathname)
        values = speaker in self.frameworks and _NUMBER.search(message)
        return Channel.LIBRARY if speaker and not values else Channel.LOGGING

    def writer(self, frame: FrameType | None) -> str:
        """Which library writes a piece of stdout that is not compared: a tracker, or one that logs; else empty."""
        if frame is not None and frame.f_code.co_filename == _LOGGING:
            record = frame.f_locals.get("record")
            return LIBRARY if record is not None and self._speaker(getattr(record, "pathname", "")) else ""
        while frame is not None and frame.f_code.co_name.startswith("write"):  # it passes on what another one writes
            frame = frame.f_back
        speaker = "" if frame is None else self._speaker(frame.f_code.co_filename)
        return speaker if speaker in PACKAGES else ""

    def _speaker(self, file: str) -> str:
        try:
            return self._files[file]
        except KeyError:
            found = self._files[file] = self.package_of(file)
            return found


def is_tracker(logger: str) -> bool:
    """True for a logger of a tracker's, as its name says: on replay it is silent, so that nobody is told of it."""
    return logger.partition(".")[0] in PACKAGES
