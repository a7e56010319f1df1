"""The policy for experiment trackers: what is kept of a call, what a checkpoint holds, what is told on replay.

Three rules hold for each of them. A call that logs is kept as named values, with the statement and the moment of the
call. A run, a client and a writer are handles: no checkpoint holds them. A value object (a histogram, an image, a
table) is state, but not compared. On replay a tracker is silent: `runtime/trackers` gives the script a run that writes
nothing and sends nothing, whatever the script, the environment or a settings file asks for, and that answers with what
the recorded run said of itself (`told`). What the code of a tracker prints or gives to `logging` is kept, and is not
compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from flor.model.records import Channel

Shape = Literal["mapping", "pair", "named", "batch"]
"""How a call gives its names and values: one mapping, a name and a value, a value and a name, lists of both."""


@dataclass(frozen=True, slots=True)
class LogCall:
    """A function or method that logs, and which of its parameters have the names and values."""

    owner: str  # a module; of a method the module and the class, with a colon between
    name: str
    shape: Shape
    words: tuple[str, ...]  # the parameters
    first: int = 0  # the position of the first one

    @property
    def module(self) -> str:
        """The module that has to be imported for it."""
        return self.owner.partition(":")[0]


@dataclass(frozen=True, slots=True)
class Tracker:
    """What flor knows of one tracker."""

    package: str
    channel: Channel | None = None  # None: its calls are not kept
    what: str = "experiment tracker"
    calls: tuple[LogCall, ...] = ()
    values: tuple[str, ...] = ()  # modules of value objects: state, but not compared, since logging one changes it
    state: tuple[str, ...] = ()  # modules of objects that are state like any other
    told: tuple[str, ...] = ()  # attributes of a run that the script may read: kept when it begins, answered on replay
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))  # for a replay's children


def _methods(owner: str, first: int, *calls: tuple[str, Shape, tuple[str, ...]]) -> tuple[LogCall, ...]:
    return tuple(LogCall(owner, name, shape, words, first) for name, shape, words in calls)


WANDB = Tracker(
    "wandb",
    Channel.WANDB,
    calls=(
        *_methods("wandb.sdk.wandb_run:Run", 1, ("log", "mapping", ("data",))),
        *_methods("wandb.sdk.lib.noop_run:NoopRun", 1, ("log", "mapping", ("data",))),  # the run of a replay
    ),
    values=("wandb.sdk.data_types", "wandb.data_types"),
    state=("wandb.sdk.wandb_config",),
    told=(
        *("id", "name", "dir", "url", "project", "entity", "group", "job_type", "notes", "path", "sweep_id"),
        *("project_url", "sweep_url", "start_time", "starting_step", "resumed", "offline", "disabled"),
    ),
    environment=MappingProxyType({"WANDB_MODE": "disabled"}),
)
MLFLOW = Tracker(
    "mlflow",
    Channel.MLFLOW,
    calls=(
        *_methods(
            "mlflow",
            0,
            ("log_metric", "pair", ("key", "value")),
            ("log_param", "pair", ("key", "value")),
            ("set_tag", "pair", ("key", "value")),
            ("log_metrics", "mapping", ("metrics",)),
            ("log_params", "mapping", ("params",)),
            ("set_tags", "mapping", ("tags",)),
            ("log_text", "named", ("text", "artifact_file")),
            ("log_dict", "named", ("dictionary", "artifact_file")),
        ),
        *_methods(
            "mlflow.tracking.client:MlflowClient",
            2,
            ("log_metric", "pair", ("key", "value")),
            ("log_param", "pair", ("key", "value")),
            ("set_tag", "pair", ("key", "value")),
            ("log_batch", "batch", ("metrics", "params", "tags")),
        ),
    ),
    told=("run_id", "run_name", "experiment_id", "artifact_uri", "user_id", "start_time"),
    environment=MappingProxyType({"MLFLOW_DISABLE_TELEMETRY": "true"}),
)
TRACKIO = Tracker(
    "trackio",
    Channel.TRACKIO,
    calls=_methods("trackio.run:Run", 1, ("log", "mapping", ("metrics",))),
    values=("trackio.histogram", "trackio.table", "trackio.media", "trackio.markdown"),
    told=("id", "name", "group", "project", "url"),
)
COMET = Tracker(
    "comet_ml",
    Channel.COMET,
    calls=tuple(
        call
        for owner in ("comet_ml:BaseExperiment", "comet_ml:CometExperiment")  # by the version
        for call in _methods(
            owner,
            1,
            ("log_metric", "pair", ("name", "value")),
            ("log_parameter", "pair", ("name", "value")),
            ("log_other", "pair", ("key", "value")),
            ("log_metrics", "mapping", ("dic",)),
            ("log_parameters", "mapping", ("parameters",)),
        )
    ),
)
WRITERS = tuple(
    Tracker(package, Channel.TENSORBOARD, "summary writer")
    for package in ("torch.utils.tensorboard", "tensorboardX", "tensorboard")
)
"""TensorBoard: every `add_...` of a SummaryWriter is kept; on replay its files are in the replay's own folder."""

OTHERS = tuple(Tracker(package) for package in ("neptune", "clearml", "aim", "swanlab"))
"""Known by name only: a checkpoint leaves their objects alone; nothing keeps a replay from reaching their servers."""

TRACKERS: tuple[Tracker, ...] = (WANDB, MLFLOW, TRACKIO, COMET, *WRITERS, *OTHERS)

PACKAGES = frozenset(tracker.package for tracker in TRACKERS)

SHOWN: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "wandb.sdk.data_types.histogram:Histogram": ("histogram", "bins"),
        "wandb.sdk.data_types.table:Table": ("columns", "data"),
        "trackio.histogram:Histogram": ("histogram", "bins"),
    }
)
"""Value objects that are kept with their content, by these attributes; of all others the kind is kept."""

CHILDREN: Mapping[str, str] = MappingProxyType(
    {name: value for tracker in TRACKERS for name, value in tracker.environment.items()}
)
"""The environment of what a replay starts: there no code of ours keeps a tracker silent."""


def tracker_of(module: str) -> Tracker | None:
    """The tracker that a module belongs to."""
    return next((each for each in TRACKERS if module == each.package or module.startswith(f"{each.package}.")), None)
