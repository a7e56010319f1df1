"""`FlorCallback` for Lightning: `Trainer(..., callbacks=[FlorCallback()])`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flor.explicit.beginning import begun
from flor.integrations.frameworks import framework
from flor.integrations.turns import Turns
from flor.runtime.api import log

Callback: Any = framework("lightning.pytorch", "pytorch_lightning").Callback


class FlorCallback(Callback):  # type: ignore[misc]
    """Logs what `self.log` gives to loggers under its name, and names the loops `epoch` and `step`.

    Which metrics are of a step is seen at the first one: what appears only later is of a validation or an epoch.
    """

    def __init__(self) -> None:
        self._epochs, self._steps = Turns("epoch"), Turns("step")
        self._of_steps: set[str] = set()
        self._of_epochs: set[str] = set()
        self._validated: set[str] = set()  # reported by a validation since the epoch began

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """A run begins here if there is none."""
        begun()

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """An epoch begins."""
        self._validated = set()
        self._steps.end()
        self._epochs.next()

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        """A step begins."""
        self._steps.next()

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """The metrics of a step."""
        self._of_steps |= self._report(trainer, lambda name: name not in self._of_epochs)

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """The metrics of a validation."""
        if not trainer.sanity_checking:
            self._validated = self._report(trainer, lambda name: name not in self._of_steps)
            self._of_epochs |= self._validated

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """The metrics of an epoch, without those that its validation has reported."""
        self._steps.end()
        known = self._of_steps | self._validated
        self._of_epochs |= self._report(trainer, lambda name: name not in known)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Training is over."""
        self._steps.end()
        self._epochs.end()

    def _report(self, trainer: Any, wanted: Callable[[str], bool]) -> set[str]:
        """Log the wanted metrics; their names."""
        found = {name: value for name, value in trainer.logged_metrics.items() if wanted(name)}
        for name, value in found.items():
            log(name, value)
        return found.keys() | set()
