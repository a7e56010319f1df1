"""The iterations of a loop that lives in a framework, told one by one by its callbacks."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from itertools import count

from flor.explicit.beginning import explicit
from flor.explicit.loops import loop


class Turns:
    """A named loop under plain Python; under `flor record` the framework's own loop is followed, and this is silent."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._items: Iterator[int] | None = None

    def next(self) -> None:
        """An iteration begins."""
        if explicit() is None:
            return
        if self._items is None:
            self._items = iter(loop(self.name, _numbers()))
        next(self._items)

    def end(self) -> None:
        """The loop has ended."""
        items, self._items = self._items, None
        if isinstance(items, Generator):
            items.close()


def _numbers() -> Iterator[int]:
    """A generator, since the loop is the framework's: nobody can begin it in the middle."""
    yield from count()
