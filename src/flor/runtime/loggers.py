"""Calls of logging, TensorBoard, wandb and mlflow: passed on, and kept as named values."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FrameType, ModuleType
from typing import Any

from flor.model.records import Channel
from flor.runtime.imports import ImportWatch
from flor.runtime.interrupts import deliver, lets_through, pending
from flor.runtime.logbook import Logbook
from flor.runtime.tracing import codes_of, hide_from_compiler

Values = Iterator[tuple[str, Any]]
"""Names and values of one call."""


class LoggerWatch:
    """Wraps the methods of logging libraries once these are imported."""

    def __init__(self, logbook: Logbook, imports: ImportWatch) -> None:
        self.logbook = logbook
        self.imports = imports
        self.undo: list[Callable[[], None]] = []

    def install(self) -> None:
        """Wrap now or at import."""
        self.imports.when("logging", self._logging)
        self.imports.when("torch.utils.tensorboard.writer", self._tensorboard)
        self.imports.when("tensorboardX.writer", self._tensorboard)
        self.imports.when("wandb.sdk.wandb_run", self._wandb)
        self.imports.when("mlflow", self._mlflow)
        self.imports.when("torch", self._torch)

    def remove(self) -> None:
        """Unwrap."""
        while self.undo:
            self.undo.pop()()

    def _logging(self, module: ModuleType) -> None:
        """A logger's own filter is asked last before its handlers: no frame of ours is there when these run."""
        logbook, owner = self.logbook, module.Logger
        real = owner.filter

        @functools.wraps(real)
        def filter(logger: Any, record: Any) -> Any:  # noqa: A001  it stands in for the method
            passed = real(logger, record)
            if passed:
                _keep_record(logbook, record if passed is True else passed)
                if pending:
                    deliver()
            return passed

        owner.filter = lets_through(filter)
        self._hide(filter)
        self.undo.append(lambda: delattr(owner, "filter"))

    def _tensorboard(self, module: ModuleType) -> None:
        writer = module.SummaryWriter
        for name in sorted(vars(writer)):
            if name.startswith("add_"):
                self._wrap(writer, name, Channel.TENSORBOARD, _summary_values(name))

    def _wandb(self, module: ModuleType) -> None:
        def values(_: Any, data: Mapping[str, Any], *__: Any, **___: Any) -> Values:
            yield from data.items()

        self._wrap(module.Run, "log", Channel.WANDB, values)

    def _mlflow(self, module: ModuleType) -> None:
        for name in ("log_metric", "log_param"):
            self._wrap(module, name, Channel.MLFLOW, lambda key, value, *_, **__: iter([(key, value)]))
        for name in ("log_metrics", "log_params"):
            self._wrap(module, name, Channel.MLFLOW, lambda values, *_, **__: iter(values.items()))
        for name in ("log_text", "log_dict"):
            self._wrap(module, name, Channel.MLFLOW, lambda value, path, *_, **__: iter([(path, value)]))

    def _torch(self, module: ModuleType) -> None:
        """Where a compiled function goes on uncompiled, torch would compile what it calls: ours too."""
        hide_from_compiler(module, [*self.logbook.stand_ins, *codes_of(type(self.logbook.session))])

    def _hide(self, function: Any) -> None:
        """Keep torch.compile, if it is there already, from compiling what stands in for a logger's method."""
        code: CodeType = function.__code__
        self.logbook.stand_ins.append(code)
        torch = sys.modules.get("torch")
        if torch is not None and hasattr(torch, "compiler"):
            hide_from_compiler(torch, [code])

    def _wrap(self, owner: Any, name: str, channel: Channel, values: Callable[..., Values]) -> None:
        """Put a function in place of owner.name that keeps the values and calls the real one."""
        real = getattr(owner, name, None)
        if real is None or not callable(real):
            return
        logbook = self.logbook

        def note(args: Any, kwargs: Any, frame: FrameType) -> None:
            try:
                _keep(logbook, channel, values(*args, **kwargs), frame)
            except Exception:  # a call that we do not understand is the library's to judge
                logbook.lost += 1

        @functools.wraps(real)
        def kept(*args: Any, **kwargs: Any) -> Any:
            note(args, kwargs, sys._getframe(1))
            if pending:
                deliver()
            return real(*args, **kwargs)

        vars(kept)["flor_note"] = note  # for background logging, which has the real one called elsewhere
        setattr(owner, name, lets_through(kept))
        self._hide(kept)
        self.undo.append(lambda: setattr(owner, name, real))


def _keep(logbook: Logbook, channel: Channel, values: Values, frame: FrameType) -> None:
    for name, value in values:
        logbook.value(channel, str(name), value, frame)


def _keep_record(logbook: Logbook, record: Any) -> None:
    try:
        frame = sys._getframe(2)
        logbook.value(Channel.LOGGING, f"{record.name}.{record.levelname}", record.getMessage(), frame)
    except Exception:  # a record that can't be read is for its handlers to judge
        logbook.lost += 1


def _summary_values(method: str) -> Callable[..., Values]:
    """How a SummaryWriter method's arguments are kept: scalars and texts whole, bulky things by their shape."""

    def values(_: Any, tag: Any = "", value: Any = None, *args: Any, **kwargs: Any) -> Values:
        if method == "add_scalars":
            for key, item in value.items():
                yield f"{tag}/{key}", item
        elif method in ("add_scalar", "add_text"):
            yield str(kwargs.get("tag", tag)), next((kwargs[k] for k in _VALUE_WORDS if k in kwargs), value)
        else:
            given = next((kwargs[k] for k in ("values", "img_tensor", "hparam_dict") if k in kwargs), value)
            yield str(kwargs.get("tag", tag)), f"{method}({_shape(given)})"

    return values


_VALUE_WORDS = ("scalar_value", "text_string")


def _shape(value: Any) -> str:
    shape = getattr(value, "shape", None)
    return f"{type(value).__name__}{list(shape)}" if shape is not None else type(value).__name__
