"""The random part of the names of temporary files and folders."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from flor.runtime import current
from flor.runtime.readings import Reading


class TemporaryNames:
    """Stands for `tempfile`'s sequence of names; only those that the project's code asks for itself are readings."""

    def __init__(self, module: Any, sequence: Iterator[str]) -> None:
        self.module = module
        self.sequence = sequence
        self.reading = Reading(lambda: next(self.sequence), "tempfile", "name")

    @classmethod
    def install(cls, module: Any) -> Callable[[], None]:
        """Put it in place; what puts the module's own back."""
        own = module._get_candidate_names()
        module._name_sequence = cls(module, own)

        def undo() -> None:
            module._name_sequence = own

        return undo

    def __iter__(self) -> TemporaryNames:
        return self

    def __next__(self) -> str:
        inputs = current.inputs
        caller = self._caller(sys._getframe(1))
        if inputs is None or caller is None or not inputs.owns(caller):
            return next(self.sequence)
        return self.reading()  # type: ignore[no-any-return]

    def _caller(self, frame: FrameType | None) -> FrameType | None:
        while frame is not None and frame.f_code.co_filename == self.module.__file__:
            frame = frame.f_back
        return frame
