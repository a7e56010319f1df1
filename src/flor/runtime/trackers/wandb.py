"""wandb: on replay a run is a disabled one of wandb's own, which knows what the recorded run was called."""

from __future__ import annotations

import inspect
import os
import sys
from contextlib import suppress
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

from flor.model.trackers import WANDB
from flor.runtime import current
from flor.runtime.readings import Given, Options
from flor.runtime.trackers.told import Told, attributes_of, variables

if TYPE_CHECKING:
    from flor.runtime.trackers.silencing import TrackerWatch

SERVED = ("Api", "sweep", "agent", "controller")
"""What only the server can answer."""


def watch(module: ModuleType, trackers: TrackerWatch) -> None:
    """Keep what a run tells; in a replay, let it be a disabled one."""
    from flor.runtime.trackers.silencing import refuse

    real = module.init
    again = partial(_again, real, trackers) if trackers.silent is not None else None
    told = Told(real, "wandb.init", _facts, again).stand_in()
    trackers.put(module, "init", told)
    inner = sys.modules.get("wandb.sdk.wandb_init")
    if inner is not None and hasattr(inner, "init"):
        trackers.put(inner, "init", told)
    if trackers.silent is None:
        _keep_summary(trackers)
        return
    trackers.put(module, "login", lambda *args, **options: True)
    for name in SERVED:
        refuse(module, name, trackers)


def _facts(run: Any) -> dict[str, Any]:
    """What the run tells of itself; one that is offline has no addresses, and warns where it is asked for one."""
    online = not getattr(run, "offline", False)
    return attributes_of(run, [name for name in WANDB.told if online or not name.endswith("url")])


def _again(real: Any, trackers: TrackerWatch, told: Any, args: Given, options: Options) -> Any:
    """A disabled run: the argument `mode` counts more than settings, files and the environment."""
    given = inspect.signature(real).bind_partial(*args, **options).arguments
    named = {**given, **given.pop("kwargs", {}), "mode": "disabled"}
    with variables({"WANDB_DISABLE_GIT": "true", "WANDB_ERROR_REPORTING": "false"}):
        run = real(**named)
    run.__class__ = _class_like(type(run), trackers)
    vars(run)["flor_told"] = dict(told or {})
    vars(run)["flor_step"] = (told or {}).get("starting_step") or 0
    vars(run)["summary"] = _summary(trackers)
    for name in ("summary", "log", "watch", "unwatch"):
        setattr(sys.modules["wandb"], name, getattr(run, name))
    folder = (told or {}).get("dir")
    if folder:
        with suppress(OSError):
            os.makedirs(folder, exist_ok=True)  # behind the replay's wall
    return run


def _class_like(cls: type, trackers: TrackerWatch) -> type:
    """The run's class, with what the recorded run told of itself and a step that counts."""
    names: dict[str, Any] = {name: _told_property(cls, name) for name in WANDB.told if hasattr(cls, name)}

    def log(self: Any, data: Any, step: Any = None, commit: Any = None, **options: Any) -> None:
        cls.log(self, data, step=step, commit=commit, **options)  # type: ignore[attr-defined]
        at = vars(self)["flor_step"]
        if step is not None and step > at:
            at = step
        if commit or (commit is None and step is None):
            at += 1
        vars(self)["flor_step"] = at

    def step(self: Any) -> Any:
        trackers.must_have_run("the step of a wandb run")
        return vars(self)["flor_step"]

    for name in ("watch", "unwatch"):  # the hooks that these put on modules are state of the modules
        own = next((vars(owner)[name] for owner in cls.__mro__[1:] if name in vars(owner)), None)
        if own is not None:
            names[name] = own
    names["_log"] = lambda self, *args, **options: None  # what such a hook calls
    names["_torch_history"] = None
    names |= {"log": log, "step": property(step), "__module__": cls.__module__}
    made = type(cls.__name__, (cls,), names)
    made.__qualname__ = cls.__qualname__
    return made


def _told_property(cls: type, name: str) -> property:
    own = getattr(cls, name)

    def get(self: Any) -> Any:
        told = vars(self).get("flor_told", {})
        return told[name] if name in told else own.__get__(self)

    def put(self: Any, value: Any) -> None:
        vars(self)["flor_told"][name] = value

    return property(get, put)


# -- the summary: what the script reads of it -----------------------------------------------------------


def _keep_summary(trackers: TrackerWatch) -> None:
    """Keep what the script reads of a summary: how wandb sums up is not done again."""
    module = sys.modules.get("wandb.sdk.wandb_summary")
    owner = getattr(module, "SummaryDict", None)
    if owner is None:
        return
    for name in ("get", "__getitem__"):
        real = vars(owner)[name]
        trackers.put(owner, name, _reading(real, Told(real, "wandb.summary", _plain, None)))


def _plain(value: Any) -> Any:
    as_dict = getattr(value, "_as_dict", None)
    return dict(as_dict()) if callable(as_dict) else value


def _reading(real: Any, told: Told) -> Any:
    """The function, asked by way of the reading where the project's own code asks."""

    def read(*args: Any, **options: Any) -> Any:
        inputs, frame = current.inputs, sys._getframe(1)
        if inputs is None or not inputs.owns(frame):
            return real(*args, **options)
        return inputs.read(told, args, options, frame)

    read.__name__, read.__qualname__, read.__doc__ = real.__name__, real.__qualname__, real.__doc__
    return read


def _summary(trackers: TrackerWatch) -> Any:
    """The summary of a disabled run, which tells what the recorded one told."""
    from wandb.sdk.lib.disabled import SummaryDisabled  # type: ignore[import-not-found,unused-ignore]

    def again(own: Any, told: Any, args: Given, options: Options) -> Any:
        if told is None:
            trackers.must_have_run("the summary of a wandb run")
            return own(*args, **options)
        return told

    names: dict[str, Any] = {"__module__": SummaryDisabled.__module__}
    for name in ("get", "__getitem__"):
        own = getattr(SummaryDisabled, name)
        names[name] = _reading(own, Told(own, "wandb.summary", _plain, partial(again, own), told=False))
    return type("SummaryDisabled", (SummaryDisabled,), names)()
