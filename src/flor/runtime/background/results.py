"""What a call that is done elsewhere gives back: something that tells whoever needs the result."""

from __future__ import annotations

from typing import Any

from flor.errors import ResultNeeded


class NotWaitedFor:
    """Stands for the result of a call that is done elsewhere; whoever needs it is told."""

    __slots__ = ("_call", "_where")

    def __init__(self, call: str, where: str) -> None:
        self._call, self._where = call, where

    def __repr__(self) -> str:
        return f"<the result of {self._call} is not waited for>"

    def _needed(self, *_: Any) -> Any:
        method = self._call.rpartition(".")[2].removesuffix("()")
        todo = f"flor.background(logger, wait=[{method!r}]) waits for it"
        raise ResultNeeded(
            f"The result of {self._call} is used, but the call is done later.", where=self._where, todo=todo
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._needed()

    __bool__ = __len__ = __iter__ = __getitem__ = __setitem__ = __contains__ = __call__ = _needed
    __int__ = __float__ = __index__ = __str__ = __enter__ = __add__ = __radd__ = __sub__ = __mul__ = _needed
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = __await__ = _needed
    __hash__ = object.__hash__
