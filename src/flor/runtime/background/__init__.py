"""Background logging: the calls of any logger leave the training thread, in order, and none is lost silently."""

from __future__ import annotations

from flor.runtime.background.proxy import Background, background

__all__ = ["Background", "background"]
