"""The one global of flor: the session that is under way in this process, if any."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flor.runtime.session import Session

session: Session | None = None
