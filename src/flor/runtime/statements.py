"""Which line of the user's code is logging."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FrameType

from flor.model.positions import MODULE
from flor.model.records import Statement


class Statements:
    """Finds the innermost frame of the project and remembers each place.

    Places are found by instruction and then by identity of the code, whose hash would be taken anew each time.
    """

    by_place = True  # the same instruction is always the same statement

    def __init__(self, name_of: Callable[[str], str | None], intern: Callable[[str], int]) -> None:
        self.name_of = name_of  # a file's name in the store, or None if it is not the project's
        self.intern = intern
        self.known: dict[int, list[tuple[CodeType, int]]] = {}
        self.files: dict[str, str | None] = {}

    def of(self, frame: FrameType | None) -> int:
        """The interned id of the statement that the nearest frame of the project is at."""
        while frame is not None:
            code = frame.f_code
            for known, number in self.known.get(frame.f_lasti, ()):
                if known is code:
                    return number
            if self.file(code) is not None:
                return self._new(frame)
            frame = frame.f_back
        return self.intern("")

    def file(self, code: CodeType) -> str | None:
        """The name of the project's file that the code is from."""
        name = code.co_filename
        try:
            return self.files[name]
        except KeyError:
            found = self.files[name] = self.name_of(name)
            return found

    def _new(self, frame: FrameType) -> int:
        code = frame.f_code
        function = code.co_qualname.replace(".<locals>", "") if code.co_name != MODULE else MODULE
        number = self.intern(str(Statement(self.file(code) or "", frame.f_lineno or 0, function)))
        self.known.setdefault(frame.f_lasti, []).append((code, number))
        return number
