"""mlflow: its active run belongs to a thread, so that a call on another one has to name it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any


def pin_run(logger: Any, function: Callable[..., Any], kwargs: dict[str, Any]) -> dict[str, Any] | None:
    """The keywords with the run that is active now; None if the call cannot name it and has to be done here."""
    if not isinstance(logger, ModuleType) or not hasattr(logger, "active_run") or "run_id" in kwargs:
        return kwargs
    run = logger.active_run()
    if run is None or not takes_run(function):
        return None  # without an active run, the call begins one: on this thread, as ever
    return {**kwargs, "run_id": run.info.run_id}


def takes_run(function: Callable[..., Any]) -> bool:
    """True if the function has a parameter for the run."""
    try:
        return "run_id" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
