"""MLflow: on replay every tracking URI means a store in the replay's folder, with the recorded run ids."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from flor.errors import TrackerNeeded
from flor.runtime import current
from flor.runtime.readings import Given, Options
from flor.runtime.trackers.told import Told, attributes_of, variables

if TYPE_CHECKING:
    from flor.runtime.trackers.silencing import TrackerWatch

EXPERIMENT = ("experiment_id", "name", "artifact_location", "lifecycle_stage", "tags")
LOCAL = ("", "file")
READS = ("get_run", "get_parent_run", "get_metric_history", "list_artifacts", "last_active_run", "get_experiment_runs")
INDIRECT = ("runs", "models")  # schemes that lead to another URI


class Mlflow:
    """The stand-ins of one process."""

    def __init__(self, told: Sequence[str], trackers: TrackerWatch) -> None:
        self.told = told
        self.trackers = trackers
        self.silent = trackers.silent
        self._store: Any = None
        self._models: Any = None
        self.begun: set[str] = set()  # the runs of this process

    # -- what is told ---------------------------------------------------------------------------------

    def watch_client(self, module: ModuleType) -> None:
        """Keep the names that a store gives to runs and experiments."""
        owner = module.TrackingServiceClient
        self._put(owner, "create_run", self._run_facts, self._create_run)
        self._put(owner, "create_experiment", str, self._create_experiment, told=False)
        for name in ("get_experiment", "get_experiment_by_name"):
            self._put(owner, name, _experiment_facts, partial(self._get_experiment, name), told=False)
        self._put(owner, "get_run", self._known_facts, self._get_run, told=False)
        if self.silent is not None:
            for name in ("search_runs", "search_experiments", "search_traces"):
                if hasattr(owner, name):
                    self.trackers.put(owner, name, partial(_refused, f"MlflowClient.{name}"))

    def _guard(self, owner: Any) -> None:
        """Where the script itself reads a run, everything that it logs must have been executed."""
        for name in READS:
            if name in vars(owner):
                self.trackers.put(owner, name, self._reading(vars(owner)[name], name))

    def _reading(self, real: Any, name: str) -> Any:
        @functools.wraps(real)
        def read(*args: Any, **options: Any) -> Any:
            inputs = current.inputs
            if inputs is None or inputs.owns(sys._getframe(1)):
                self.trackers.must_have_run(f"an MLflow run by {name}")
            return real(*args, **options)

        return read

    def _put(
        self, owner: Any, name: str, facts: Callable[[Any], Any], again: Callable[..., Any], *, told: bool = True
    ) -> None:
        made = Told(
            vars(owner)[name], f"mlflow.{name}", facts, None if self.silent is None else again, told=told
        ).stand_in()
        self.trackers.put(owner, name, made)

    def _run_facts(self, run: Any) -> dict[str, Any]:
        self.begun.add(run.info.run_id)
        return attributes_of(run.info, self.told)

    def _known_facts(self, run: Any) -> dict[str, Any] | None:
        """All of a run of another process; of this one's own the replay has it itself."""
        if run.info.run_id in self.begun:
            return None
        return {**attributes_of(run.info, self.told), **attributes_of(run.data, ("metrics", "params", "tags"))}

    # -- a silent store -------------------------------------------------------------------------------

    @property
    def store(self) -> Any:
        """The store that stands for all others."""
        if self._store is None:
            self._store = _make(_silent_store, Path(self.silent or ""))
        return self._store

    def watch_store(self, module: ModuleType) -> None:
        """Let every URI, however it was given, lead to the silent store."""
        if self.silent is not None:
            self.trackers.put(
                module.TrackingStoreRegistry, "_get_store_with_resolved_uri", lambda *args, **options: self.store
            )

    def watch_reads(self, module: ModuleType) -> None:
        """Hear of reads by the script, of the module and of a client."""
        if self.silent is not None:
            self._guard(getattr(module, "MlflowClient", module) if module.__name__ != "mlflow" else module)

    def watch_models(self, module: ModuleType) -> None:
        """The same for registered models."""
        if self.silent is not None:
            self.trackers.put(
                module.ModelRegistryStoreRegistry, "_get_store_with_resolved_uri", lambda *args, **options: self.models
            )

    @property
    def models(self) -> Any:
        """The registry of models that stands for all others."""
        if self._models is None:
            self._models = _make(_silent_models, Path(self.silent or ""))
        return self._models

    def watch_artifacts(self, module: ModuleType) -> None:
        """Let artifacts that would go elsewhere go to the replay's folder; local files are behind its wall."""
        if self.silent is None:
            return
        owner, folder = module.ArtifactRepositoryRegistry, self.silent
        real = vars(owner)["get_artifact_repository"]

        def get_artifact_repository(registry: Any, artifact_uri: str, *args: Any, **options: Any) -> Any:
            scheme = str(artifact_uri).partition(":")[0] if ":" in str(artifact_uri) else ""
            if scheme not in (*LOCAL, *INDIRECT):
                artifact_uri = (folder / "artifacts" / quote(str(artifact_uri), safe="")).as_uri()
            return real(registry, artifact_uri, *args, **options)

        self.trackers.put(owner, "get_artifact_repository", get_artifact_repository)

    def watch_telemetry(self, module: ModuleType) -> None:
        """A replay is no use of MLflow that its makers should count."""
        if self.silent is not None and hasattr(module, "set_telemetry_client"):
            self.trackers.put(module, "set_telemetry_client", lambda *args, **options: None)

    # -- told again -----------------------------------------------------------------------------------

    def _create_run(self, told: Any, args: Given, options: Options) -> Any:
        names = ("client", "experiment_id", "start_time", "tags", "run_name")
        given = dict(zip(names, args, strict=False)) | dict(options)
        facts = dict(told or {})
        tags = {str(name): str(value) for name, value in (given.get("tags") or {}).items()}
        return self.store.begin(facts, given.get("experiment_id"), given.get("run_name"), tags)

    def _create_experiment(self, told: Any, args: Given, options: Options) -> Any:
        given = dict(zip(("client", "name", "artifact_location"), args, strict=False)) | dict(options)
        if told is None:
            return self.store.create_experiment(given["name"], given.get("artifact_location"))
        return self.store.have(str(told), given["name"], given.get("artifact_location"))

    def _get_experiment(self, name: str, told: Any, args: Given, options: Options) -> Any:
        if told is not None and self.store.get_experiment_or_none(told["experiment_id"]) is None:
            self.store.have(told["experiment_id"], told["name"], told.get("artifact_location"))
        return getattr(self.store, name)(*args[1:], **options)

    def _get_run(self, told: Any, args: Given, options: Options) -> Any:
        run_id = args[1] if len(args) > 1 else options["run_id"]
        if run_id not in self.store.begun:
            if told is None:
                return _refused("MlflowClient.get_run")
            self.store.begin(told, told.get("experiment_id"), told.get("run_name"), told.get("tags") or {})
            self.store.fill(run_id, told.get("metrics") or {}, told.get("params") or {})
        return self.store.get_run(run_id)


def _experiment_facts(experiment: Any) -> dict[str, Any] | None:
    return None if experiment is None else attributes_of(experiment, EXPERIMENT)


def _refused(title: str, *args: Any, **options: Any) -> Any:
    raise TrackerNeeded(
        f"{title} asks the tracking store for other runs, and a replay does not reach it.",
        todo="Let the script keep the answer in a file, and read that.",
    )


def _make(make: Callable[[Path], Any], folder: Path) -> Any:
    """A store of files, which MLflow makes only if it is allowed to; the variable is there for this moment only."""
    with variables({"MLFLOW_ALLOW_FILE_STORE": "true"}):
        return make(folder)


def _silent_models(folder: Path) -> Any:
    from mlflow.store.model_registry.file_store import FileStore

    return FileStore((folder / "mlruns").as_uri())


def _silent_store(folder: Path) -> Any:
    """MLflow's own store of files, in the replay's folder, whose names are given by the record."""
    from mlflow.entities import Metric, Param, RunTag
    from mlflow.store.tracking import file_store
    from mlflow.tracking.context.registry import resolve_tags  # noqa: F401  imported before names are replaced

    class SilentStore(file_store.FileStore):  # type: ignore[misc]
        """Runs and experiments as they were recorded."""

        def __init__(self, root: str) -> None:
            super().__init__(root)
            self.begun: dict[str, Any] = {}

        def get_experiment_or_none(self, number: str) -> Any:
            """The experiment of that number, if there is one."""
            return self._get_experiment(number) if self._get_experiment_path(number) else None

        def have(self, number: str, name: str, location: str | None) -> str:
            """Have an experiment of that number."""
            if self.get_experiment_or_none(number) is None:
                self._create_experiment_with_id(name, number, location, None)
            return number

        def begin(self, facts: dict[str, Any], experiment: str | None, name: str | None, tags: dict[str, str]) -> Any:
            """Begin a run under its recorded id."""
            number = str(facts.get("experiment_id") or experiment or self.DEFAULT_EXPERIMENT_ID)
            self.have(number, f"experiment {number}", None)
            real = file_store.uuid
            known = facts.get("run_id")
            self.begun[str(known)] = facts
            if known is not None:
                file_store.uuid = SimpleNamespace(uuid4=lambda: SimpleNamespace(hex=known))
            try:
                run = self.create_run(
                    number,
                    facts.get("user_id"),
                    facts.get("start_time"),
                    [RunTag(key, value) for key, value in tags.items()],
                    facts.get("run_name") or name,
                )
            finally:
                file_store.uuid = real
            self.begun[run.info.run_id] = facts
            return run

        def fill(self, run_id: str, metrics: dict[str, float], params: dict[str, str]) -> None:
            """Give a run what it had."""
            for key, value in metrics.items():
                self.log_metric(run_id, Metric(key, value, 0, 0))
            for key, text in params.items():
                self.log_param(run_id, Param(key, text))

        def _get_artifact_dir(self, experiment_id: str, run_uuid: str) -> Any:
            recorded = self.begun.get(run_uuid, {}).get("artifact_uri")
            return recorded or super()._get_artifact_dir(experiment_id, run_uuid)

    return SilentStore((folder / "mlruns").as_uri())
