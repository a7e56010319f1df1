"""Which line of the user's code is logging."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType

from flor.model.positions import MODULE
from flor.model.records import Statement


class Statements:
    """Finds the innermost frame of the project and remembers each place by (code, instruction)."""

    def __init__(self, name_of: Callable[[str], str | None], intern: Callable[[str], int]) -> None:
        self.name_of = name_of  # a file's name in the store, or None if it is not the project's
        self.intern = intern
        self.known: dict[tuple[CodeType, int], int] = {}
        self.files: dict[CodeType, str | None] = {}

    def of(self, frame: FrameType | None) -> int:
        """The interned id of the statement that the nearest frame of the project is at."""
        while frame is not None:
            code = frame.f_code
            key = (code, frame.f_lasti)
            number = self.known.get(key)
            if number is not None:
                return number
            if self.file(code) is not None:
                return self._new(key, frame)
            frame = frame.f_back
        return self.intern("")

    def file(self, code: CodeType) -> str | None:
        """The name of the project's file that the code is from."""
        try:
            return self.files[code]
        except KeyError:
            found = self.files[code] = self.name_of(code.co_filename)
            return found

    def _new(self, key: tuple[CodeType, int], frame: FrameType) -> int:
        code = frame.f_code
        function = code.co_qualname.replace(".<locals>", "") if code.co_name != MODULE else MODULE
        number = self.known[key] = self.intern(str(Statement(self.file(code) or "", frame.f_lineno or 0, function)))
        return number


def caller(depth: int) -> FrameType:
    """The frame that many calls up."""
    return sys._getframe(depth + 1)
