"""comet: on replay every experiment is a disabled one. Written from memory of its interface; no test runs it."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flor.runtime.trackers.silencing import TrackerWatch

CLASSES = ("Experiment", "OfflineExperiment", "ExistingExperiment", "ExistingOfflineExperiment")
SERVED = ("API", "Optimizer")


def watch(module: ModuleType, trackers: TrackerWatch) -> None:
    """In a replay, let experiments be disabled ones."""
    from flor.runtime.trackers.silencing import refuse

    if trackers.silent is None:
        return
    for name in CLASSES:
        found = getattr(module, name, None)
        if isinstance(found, type) and "__init__" in vars(found):
            trackers.put(found, "__init__", _disabled(vars(found)["__init__"]))
    if hasattr(module, "start"):
        trackers.put(module, "start", lambda *args, **options: module.Experiment(disabled=True))
    for name in ("init", "login"):
        if hasattr(module, name):
            trackers.put(module, name, lambda *args, **options: None)
    for name in SERVED:
        refuse(module, name, trackers)


def _disabled(begin: Any) -> Any:
    @functools.wraps(begin)
    def __init__(self: Any, *args: Any, **options: Any) -> None:  # noqa: N807
        begin(self, *args, **{**options, "disabled": True})

    return __init__
