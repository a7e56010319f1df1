"""What a tracker tells the script of itself, as a reading: kept when it is recorded, told again when it is replayed."""

from __future__ import annotations

import functools
import json
import os
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from flor.model.records import Atom
from flor.runtime.readings import Given, Options, Reading

Facts = Mapping[str, Any]


class Told(Reading):
    """Stands for a function whose value can't be kept: kept are facts of it, of which `again` makes a like one."""

    plain = False

    def __init__(
        self,
        function: Any,
        title: str,
        facts: Callable[[Any], Any],
        again: Callable[[Any, Given, Options], Any] | None,
        *,
        told: bool = True,
    ) -> None:
        module, _, name = title.rpartition(".")
        super().__init__(function, module, name)
        self.facts = facts
        self.again = again  # None unless the tracker is silent
        self.told = told  # whether a replay says that the record has no answer
        if again is not None:
            self.call = lambda *args, **options: _as_then(lambda: again(None, args, options), None)

    def ask(self, args: Given, options: Options) -> tuple[Any, Atom]:
        """Call it, and keep the facts; a fact that is no plain value is left out."""
        before = random.getstate()
        value = self.call(*args, **options)
        if self.again is not None:
            return value, None
        after = random.getstate()
        try:
            facts = plain(self.facts(value))
        except Exception:  # P2: whatever a tracker does when it is asked, the script does not hear of it
            facts = None
        return value, json.dumps([facts, None if after == before else after])

    def answer(self, kept: Atom, args: Given, options: Options) -> Any:
        """What is made of the facts; in a resumed run, where the tracker is not silent, what it says now."""
        if self.again is None:
            return self.call(*args, **options)
        again, (facts, after) = self.again, json.loads(str(kept)) if kept is not None else (None, None)
        return _as_then(lambda: again(facts, args, options), after)

    def stand_in(self) -> Any:
        """A function that looks like the one it stands for."""

        @functools.wraps(self.__wrapped__)
        def told(*args: Any, **options: Any) -> Any:
            return self(*args, **options)

        return told


def _as_then(make: Callable[[], Any], after: Any) -> Any:
    """What is made, with the state of `random` behind it that the recorded call had left: names of runs are drawn."""
    before = random.getstate()
    try:
        return make()
    finally:
        random.setstate(before if after is None else (after[0], tuple(after[1]), after[2]))


def plain(facts: Any) -> Any:
    """Facts without what JSON does not have."""
    if isinstance(facts, dict):
        facts = {name: value for name, value in facts.items() if _is_plain(value)}
    return facts if _is_plain(facts) else None


def attributes_of(value: Any, names: Sequence[str]) -> dict[str, Any]:
    """Those attributes that the object tells; asking a tracker for one may fail."""
    found = {}
    for name in names:
        try:
            found[name] = getattr(value, name)
        except Exception:
            continue
    return found


@contextmanager
def variables(values: Mapping[str, str]) -> Iterator[None]:
    """With these environment variables, for the moment of one call: the script does not see them."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _is_plain(value: Any) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True
