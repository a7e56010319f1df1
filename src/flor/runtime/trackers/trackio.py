"""trackio: on replay a run keeps nothing, starts no thread and knows what the recorded run was called."""

from __future__ import annotations

import inspect
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

from flor.model.trackers import TRACKIO
from flor.runtime.readings import Given, Options
from flor.runtime.trackers.told import Told, attributes_of

if TYPE_CHECKING:
    from flor.runtime.trackers.silencing import TrackerWatch

NEXT = "_next_step"
SILENT = ("show", "sync", "freeze", "save", "delete_project")
"""Functions that show, copy or delete what is kept: there is nothing."""


def watch(module: ModuleType, trackers: TrackerWatch) -> None:
    """Keep what a run tells; in a replay, let it be a silent one."""
    from flor.runtime.trackers.silencing import refuse

    again = partial(_again, module) if trackers.silent is not None else None
    told = Told(module.init, "trackio.init", lambda run: attributes_of(run, (*TRACKIO.told, NEXT)), again)
    trackers.put(module, "init", told.stand_in())
    if trackers.silent is None:
        return
    for name in SILENT:
        if hasattr(module, name):
            trackers.put(module, name, lambda *args, **options: None)
    refuse(module, "Api", trackers)


def _again(module: Any, told: Any, args: Given, options: Options) -> Any:
    """A run that is made as trackio makes a local one, with the recorded names."""
    given = inspect.signature(module.init).bind_partial(*args, **options).arguments
    facts = dict(told or {})
    before = module.context_vars.current_run.get()
    if before is not None:
        before.finish()
    run = _silent_class(module.Run)(
        url=None,
        project=given.get("project"),
        client=None,
        name=facts.pop("name", None) or given.get("name"),
        run_id=facts.pop("id", None),
        group=given.get("group"),
        config=given.get("config"),
        existing_runs=[],
    )
    for name, value in facts.items():
        setattr(run, name, value)
    module.context_vars.current_project.set(given.get("project"))
    module.context_vars.current_run.set(run)
    module.config = run.config
    return run


def _silent_class(cls: type) -> type:
    def emptied(self: Any, *args: Any, **options: Any) -> None:
        for name in ("_queued_logs", "_queued_system_logs", "_queued_uploads", "_queued_alerts"):
            getattr(self, name, []).clear()

    def nothing(self: Any, *args: Any, **options: Any) -> None:
        """Neither kept nor sent."""

    quiet = dict.fromkeys(
        ("alert", "log_system", "log_artifact", "link_artifact", "finish", "_get_username", "_queue_upload"), nothing
    )
    emptying = dict.fromkeys(("_ensure_sender_alive", "_flush_queues_inline"), emptied)
    names: dict[str, Any] = {
        **quiet,
        **emptying,
        "_start_background_thread": lambda self, *args, **options: False,
        "_safe_get_existing_runs": lambda self: [],
        "_safe_get_max_step_for_run": lambda self: None,
        "__module__": cls.__module__,
    }
    made = type(cls.__name__, (cls,), names)
    made.__qualname__ = cls.__qualname__
    return made
