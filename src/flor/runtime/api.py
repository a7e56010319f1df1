"""What a user's script may call itself."""

from __future__ import annotations

import sys
from typing import TypeVar

from flor.model.records import Channel
from flor.runtime import current

Value = TypeVar("Value")


def log(name: str, value: Value) -> Value:
    """Log a value under a name, and give it back; without a session under way nothing is written.

    A tensor is copied as it is now, without `.item()`.
    """
    session = current.session
    if session is not None and (logbook := session.logbook) is not None:
        logbook.value(Channel.FLOR, name, value, sys._getframe(1))
    return value
