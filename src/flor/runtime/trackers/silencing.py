"""Puts the stand-ins in place when a tracker is imported; in a replay they are silent."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from flor.errors import StateError, TrackerNeeded
from flor.model.trackers import MLFLOW
from flor.runtime.imports import ImportWatch
from flor.runtime.trackers import comet, tensorboard, trackio, wandb
from flor.runtime.trackers.mlflow import Mlflow


class TrackerWatch:
    """What trackers tell is kept, or, given a folder for a silent one's files, told again."""

    def __init__(self, imports: ImportWatch, silent: Path | None) -> None:
        self.imports = imports
        self.silent = silent
        self.undo: list[Callable[[], None]] = []
        self.jumped: Callable[[], bool] = lambda: False  # whether something that was logged has been skipped

    def install(self) -> None:
        """Now or at import."""
        self.imports.when("wandb", lambda module: wandb.watch(module, self))
        self.imports.when("trackio", lambda module: trackio.watch(module, self))
        self.imports.when("comet_ml", lambda module: comet.watch(module, self))
        for name in ("torch.utils.tensorboard.writer", "tensorboardX.writer"):
            self.imports.when(name, lambda module: tensorboard.watch_writer(module, self))
        for module_name, function in tensorboard.FOLDERS:
            self.imports.when(module_name, partial(tensorboard.watch_folder, function, trackers=self))
        mlflow = Mlflow(MLFLOW.told, self)
        self.imports.when("mlflow.tracking._tracking_service.client", mlflow.watch_client)
        self.imports.when("mlflow.tracking._tracking_service.registry", mlflow.watch_store)
        for name in ("mlflow", "mlflow.tracking.client"):
            self.imports.when(name, mlflow.watch_reads)
        self.imports.when("mlflow.tracking._model_registry.registry", mlflow.watch_models)
        self.imports.when("mlflow.store.artifact.artifact_repository_registry", mlflow.watch_artifacts)
        self.imports.when("mlflow.telemetry.client", mlflow.watch_telemetry)

    def remove(self) -> None:
        """Let everything be as it was."""
        while self.undo:
            self.undo.pop()()

    def must_have_run(self, what: str) -> None:
        """Have the script executed from an earlier point where it reads back what it has logged to a silent tracker."""
        if self.jumped():
            raise StateError(f"The script reads {what}, and what it logged before is in no checkpoint.")

    def put(self, owner: Any, name: str, value: Any) -> None:
        """Put a stand-in in place, also of what the owner would give only when it is asked for it."""
        if name in vars(owner):
            real = vars(owner)[name]
            self.undo.append(lambda: setattr(owner, name, real))
        else:
            self.undo.append(lambda: delattr(owner, name))
        setattr(owner, name, value)


def refuse(module: ModuleType, name: str, watch: TrackerWatch) -> None:
    """Let a function raise that has no meaning without the server: its answers are in no record."""
    title = f"{module.__name__}.{name}"

    def refused(*args: Any, **options: Any) -> Any:
        raise TrackerNeeded(
            f"{title} asks the tracker's server, and a replay does not reach it.",
            todo="Let the script keep the answer in a file, and read that.",
        )

    watch.put(module, name, refused)
