"""`FlorCallback` for the Trainer of Hugging Face transformers: `Trainer(..., callbacks=[FlorCallback()])`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flor.explicit.beginning import begun
from flor.integrations.frameworks import framework
from flor.integrations.turns import Turns
from flor.runtime.api import log

TrainerCallback: Any = framework("transformers").TrainerCallback


class FlorCallback(TrainerCallback):  # type: ignore[misc]
    """Logs every metric that the Trainer reports under its name, and names its loops `epoch` and `step`."""

    def __init__(self) -> None:
        self._epochs, self._steps = Turns("epoch"), Turns("step")

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """A run begins here if there is none."""
        begun()

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """An epoch begins."""
        self._steps.end()
        self._epochs.next()

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """An optimizer step begins."""
        self._steps.next()

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """An epoch's steps are over."""
        self._steps.end()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Training is over."""
        self._steps.end()
        self._epochs.end()

    def on_log(self, args: Any, state: Any, control: Any, logs: Mapping[str, Any] | None = None, **kwargs: Any) -> None:
        """What the Trainer reports, as it reports it."""
        for name, value in (logs or {}).items():
            log(name, value)
