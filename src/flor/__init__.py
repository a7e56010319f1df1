"""flor: hindsight logging for model training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flor.runtime.api import log

if TYPE_CHECKING:
    from flor.query.runs import Run, run, runs

__version__ = "0.1.0"
__all__ = ["Run", "log", "run", "runs"]


def __getattr__(name: str) -> Any:
    if name in ("Run", "run", "runs"):
        from flor.query import runs as found

        return getattr(found, name)
    raise AttributeError(f"module 'flor' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
