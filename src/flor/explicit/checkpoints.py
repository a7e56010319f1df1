"""`flor.checkpoint_resume` and `flor.checkpoint`: what one iteration hands to the next."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from flor.explicit.beginning import explicit
from flor.model.records import Note
from flor.runtime.explicit.declared import Given
from flor.runtime.explicit.marking import mark

BOUNDS = ("start", "stop")


def checkpoint_resume(args: Any, objects: Iterable[Any]) -> None:
    """Declare these objects to be all that an iteration hands on; a replay resumes from them.

    In a replay that was begun as a plain script, `args.start` and `args.stop` say which iterations are wanted,
    and `args.start` is moved back to the nearest checkpoint.
    """
    session = explicit()
    if session is None:
        return
    given = Given(_several(objects))
    session.declared.complete = given
    session.note(Note("bounds", {name: _number(args, name) for name in BOUNDS}))
    mark(session, "start", given, sys._getframe(1))
    if session.steering is not None:
        session.steering.resume(args)


def checkpoint(objects: Iterable[Any]) -> None:
    """Declare what the iteration under way hands on: it is saved when the next one begins."""
    session = explicit()
    if session is not None:
        session.declared.once = Given(_several(objects))


def _several(objects: Any) -> tuple[Any, ...]:
    """A tuple or list of objects, or one object."""
    return tuple(objects) if isinstance(objects, tuple | list) else (objects,)


def _number(args: Any, name: str) -> int | None:
    value = getattr(args, name, None)
    return value if isinstance(value, int) else None
