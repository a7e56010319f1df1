"""The states that training begins with: kept when a run is recorded, put back when it is replayed."""

from __future__ import annotations

from types import FrameType

from flor.model.explicit import Construct
from flor.runtime.explicit.declared import Given
from flor.runtime.explicit.session import ExplicitSession, pop, push
from flor.runtime.sites import clock


def mark(session: ExplicitSession, name: str, given: Given, caller: FrameType) -> None:
    """Keep these objects and all random states as they are now, or put them back: unseeded scripts replay, too."""
    frame = push(session, Construct.START.named(name), caller)
    if frame is None:
        return
    session.declared.block = given
    try:
        session.conductor.entering(frame, caller)
        session.conductor.leaving(frame, caller, clock())
    finally:
        session.declared.block = Given()
        pop(session, frame)
