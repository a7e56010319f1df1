"""TensorBoard: a log folder that is named after the clock and the host has on replay the name that it was given."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import TYPE_CHECKING, Any

from flor.runtime.readings import Given, Options
from flor.runtime.trackers.told import Told

if TYPE_CHECKING:
    from flor.runtime.trackers.silencing import TrackerWatch

FOLDERS = (
    ("transformers.integrations.integration_utils", "default_logdir"),
    ("transformers.training_args", "default_logdir"),  # of earlier versions
)
"""Functions that name such a folder."""


def watch_writer(module: ModuleType, trackers: TrackerWatch) -> None:
    """Keep the folder of a writer that is given none; its files are the replay's own, as all files are."""
    owner = module.SummaryWriter
    real = vars(owner)["__init__"]

    def begin(self: Any, *args: Any, **options: Any) -> Any:
        real(self, None, *args, **options)
        return str(getattr(self, "log_dir", getattr(self, "logdir", "")))

    def again(told: Any, args: Given, options: Options) -> Any:
        return real(args[0], told, *args[1:], **options)

    told = Told(begin, "tensorboard.SummaryWriter", str, None if trackers.silent is None else again)

    @functools.wraps(real)
    def __init__(self: Any, *args: Any, **options: Any) -> None:  # noqa: N807
        if (args and args[0]) or options.get("log_dir") or options.get("logdir"):
            real(self, *args, **options)
        else:
            rest = {name: value for name, value in options.items() if name not in ("log_dir", "logdir")}
            told(self, *args[1:], **rest)

    trackers.put(owner, "__init__", __init__)


def watch_folder(name: str, module: ModuleType, trackers: TrackerWatch) -> None:
    """Keep the name that a framework gives to a folder."""
    if name not in vars(module):
        return
    real = vars(module)[name]

    def again(told: Any, args: Given, options: Options) -> Any:
        return real(*args, **options) if told is None else told

    told = Told(real, f"{module.__name__}.{name}", str, None if trackers.silent is None else again)
    trackers.put(module, name, told.stand_in())
