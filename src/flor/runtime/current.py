"""The globals of flor: the session that is under way in this process, if any, and who serves it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flor.runtime.background.server import Server
    from flor.runtime.readings import Inputs
    from flor.runtime.session import Session

session: Session | None = None
inputs: Inputs | None = None  # who notes or answers what the script asks the world
settled: bool = False  # True once an explicit call has found, begun or been refused a session
background: Server | None = None  # the process that logs for this one
