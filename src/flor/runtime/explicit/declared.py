"""The objects that the user declares: what a checkpoint of a named loop or block holds, instead of all names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any

from flor.errors import RestoreMismatch
from flor.model.explicit import is_block
from flor.runtime.explicit.callnames import rebind
from flor.runtime.scopes import ITEM, ScopeReader, Scopes
from flor.runtime.sites import NOTHING, LoopFrame

OBJECTS = "objects"


@dataclass(frozen=True)
class Given:
    """Objects as they were passed, with the name that each has in the caller, if it has one."""

    objects: tuple[Any, ...] = ()
    names: tuple[str | None, ...] = ()
    caller: FrameType | None = None

    def scope(self) -> dict[str, Any]:
        """Each object under its number."""
        return {str(number): thing for number, thing in enumerate(self.objects)}


class Declared(ScopeReader):
    """Answers what the names are by what was declared last."""

    def __init__(self, real: ScopeReader) -> None:
        super().__init__(real.owns, real.owns_module)
        self.real = real
        self.complete: Given | None = None  # what one iteration hands to the next
        self.once: Given | None = None  # the same, for the iteration under way only
        self.block = Given()  # what the block that is ending may have changed
        self.last = Given()  # what was read last, and so is what is bound next

    def of(self, loop: LoopFrame | None) -> Given:
        """What a checkpoint at this moment is about."""
        if loop is not None and is_block(loop.site.loop):
            return self.block
        return self.once or self.complete or Given()

    def read(self, caller: FrameType, loop: LoopFrame | None) -> Scopes:
        """The declared objects, and the item that a loop has fetched; for a probe's watch all names."""
        if loop is None:
            return self.real.read(caller, None)
        self.last = self.of(loop)
        scopes: Scopes = {OBJECTS: self.last.scope()}
        if loop.item is not NOTHING:
            scopes[ITEM] = {ITEM: loop.item}
        return scopes

    def bind(self, caller: FrameType, values: Mapping[str, Mapping[str, Any]], unbind: Mapping[str, set[str]]) -> None:
        """Objects were restored in place; a plain value is bound to the name that it was passed by."""
        given, self.last = self.last, Given()
        restored = values.get(OBJECTS, {})
        for number, now in enumerate(given.objects):
            then = restored.get(str(number), now)
            if then is not now and not _same_value(now, then):
                _rebind(given, number, then)


def _same_value(now: Any, then: Any) -> bool:
    plain = type(now) in (int, float, bool, str, bytes, type(None))
    return plain and type(now) is type(then) and repr(now) == repr(then)


def _rebind(given: Given, number: int, value: Any) -> None:
    name = given.names[number] if number < len(given.names) else None
    if name is None or given.caller is None or not rebind(given.caller, name, value):
        raise RestoreMismatch(
            f"Object {number + 1} is a {type(value).__name__}, which can't be changed in place, and has no plain name.",
            todo="Pass a variable by its name, or keep the value in a list, a dict or an object.",
        )
