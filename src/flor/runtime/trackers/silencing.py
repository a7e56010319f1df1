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

MISSING = object()


class NotSilent(BaseException):
    """A tracker of a version that flor can't keep silent; no handler of the script's for errors takes this one."""

    def __init__(self, module: str, error: Exception) -> None:
        super().__init__(
            f"{module} is not as flor knows it, so that a replay can't keep it from its folder and its server: "
            f"{type(error).__name__}: {error}. Install the version with which the run was recorded. [tracker-needed]"
        )


class TrackerWatch:
    """What trackers tell is kept, or, given a folder for a silent one's files, told again."""

    def __init__(
        self, imports: ImportWatch, silent: Path | None, owns_module: Callable[[str], bool] = lambda name: False
    ) -> None:
        self.imports = imports
        self.silent = silent
        self.owns_module = owns_module
        self.undo: list[Callable[[], None]] = []
        self.jumped: Callable[[], bool] = lambda: False  # whether something that was logged has been skipped

    def install(self) -> None:
        """Now or at import."""
        self._when("wandb", lambda module: wandb.watch(module, self))
        self._when("trackio", lambda module: trackio.watch(module, self))
        self._when("comet_ml", lambda module: comet.watch(module, self))
        for name in ("torch.utils.tensorboard.writer", "tensorboardX.writer"):
            self._when(name, lambda module: tensorboard.watch_writer(module, self))
        for module_name, function in tensorboard.FOLDERS:
            self._when(module_name, partial(tensorboard.watch_folder, function, trackers=self))
        mlflow = Mlflow(MLFLOW.told, self)
        self._when("mlflow.tracking._tracking_service.client", mlflow.watch_client)
        self._when("mlflow.tracking._tracking_service.registry", mlflow.watch_store)
        for name in ("mlflow", "mlflow.tracking.client"):
            self._when(name, mlflow.watch_reads)
        self._when("mlflow.tracking._model_registry.registry", mlflow.watch_models)
        self._when("mlflow.store.artifact.artifact_repository_registry", mlflow.watch_artifacts)
        self._when("mlflow.telemetry.client", mlflow.watch_telemetry)

    def remove(self) -> None:
        """Let everything be as it was."""
        while self.undo:
            self.undo.pop()()

    def must_have_run(self, what: str) -> None:
        """Have the script executed from an earlier point where it reads back what it has logged to a silent tracker."""
        if self.jumped():
            raise StateError(f"The script reads {what}, and what it logged before is in no checkpoint.")

    def put(self, owner: Any, name: str, value: Any) -> None:
        """Put a stand-in in place; an owner that has nothing of that name is of a version that flor does not know."""
        real = vars(owner)[name]
        setattr(owner, name, value)
        self.undo.append(lambda: setattr(owner, name, real))

    def _when(self, name: str, watch: Callable[[ModuleType], None]) -> None:
        """Call back at import. In a replay a failure ends the script: this tracker might not be silent."""

        def watched(module: ModuleType) -> None:
            try:
                watch(module)
            except Exception as error:
                if self.silent is not None and not self.owns_module(name):  # a file of the script's is no tracker
                    raise NotSilent(name, error) from error
                raise

        self.imports.when(name, watched)


def refuse(module: ModuleType, name: str, watch: TrackerWatch) -> None:
    """Let a function raise that has no meaning without the server: its answers are in no record."""
    title = f"{module.__name__}.{name}"

    def refused(*args: Any, **options: Any) -> Any:
        raise TrackerNeeded(
            f"{title} asks the tracker's server, and a replay does not reach it.",
            todo="Let the script keep the answer in a file, and read that.",
        )

    before = vars(module).get(name, MISSING)  # a module may have it only when it is asked for it
    vars(module)[name] = refused
    watch.undo.append(
        lambda: vars(module).pop(name, None) if before is MISSING else vars(module).update({name: before})
    )
