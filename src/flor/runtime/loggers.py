"""Calls of logging, TensorBoard and the trackers (`model/trackers.py`): passed on, and kept as named values."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from types import CodeType, FrameType, ModuleType
from typing import Any

from flor.model.records import Channel
from flor.model.trackers import SHOWN, TRACKERS, LogCall
from flor.runtime.imports import ImportWatch
from flor.runtime.interrupts import deliver, lets_through, pending
from flor.runtime.logbook import Logbook
from flor.runtime.speakers import Speakers
from flor.runtime.tracing import codes_of, hide_from_compiler

Values = Iterator[tuple[str, Any]]
"""Names and values of one call."""

under_way = threading.local()
"""Has `call` set while a tracker's function that is kept runs in this thread."""


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
        for tracker in TRACKERS:
            for module, calls in groupby(tracker.calls, lambda call: call.module):
                assert tracker.channel is not None
                self.imports.when(module, partial(self._calls, list(calls), tracker.channel))
        self.imports.when("torch", self._torch)

    def remove(self) -> None:
        """Unwrap."""
        while self.undo:
            self.undo.pop()()

    def _logging(self, module: ModuleType) -> None:
        """A logger's own filter is asked last before its handlers: no frame of ours is there when these run."""
        logbook, owner, speakers = self.logbook, module.Logger, self.logbook.speakers
        real = owner.filter

        @functools.wraps(real)
        def filter(logger: Any, record: Any) -> Any:  # noqa: A001  it stands in for the method
            passed = real(logger, record)
            if passed:
                _keep_record(logbook, record if passed is True else passed, speakers)
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

    def _calls(self, calls: Sequence[LogCall], channel: Channel, module: ModuleType) -> None:
        """Wrap those of a tracker's calls that a module has."""
        for call in calls:
            _, _, inside = call.owner.partition(":")
            owner = getattr(module, inside, None) if inside else module
            if owner is not None and call.name in vars(owner):
                self._wrap(owner, call.name, channel, partial(call_values, call), outermost=True)

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

    def _wrap(
        self, owner: Any, name: str, channel: Channel, values: Callable[..., Values], *, outermost: bool = False
    ) -> None:
        """Put a function in place of owner.name that keeps the values and calls the real one.

        With `outermost` a call is kept once where one such function calls another.
        """
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

        @functools.wraps(real)
        def kept_once(*args: Any, **kwargs: Any) -> Any:
            if getattr(under_way, "call", False):
                return real(*args, **kwargs)
            note(args, kwargs, sys._getframe(1))
            if pending:
                deliver()
            under_way.call = True
            try:
                return real(*args, **kwargs)
            finally:
                under_way.call = False

        chosen = kept_once if outermost else kept
        vars(chosen)["flor_note"] = note  # for background logging, which has the real one called elsewhere
        setattr(owner, name, lets_through(chosen))
        self._hide(chosen)
        self.undo.append(lambda: setattr(owner, name, real))


def _keep(logbook: Logbook, channel: Channel, values: Values, frame: FrameType) -> None:
    for name, value in values:
        logbook.value(channel, str(name), value, frame)


def _keep_record(logbook: Logbook, record: Any, speakers: Speakers) -> None:
    try:
        frame = sys._getframe(2)
        message = record.getMessage()
        logbook.value(speakers.channel(record, message), f"{record.name}.{record.levelname}", message, frame)
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


def call_values(call: LogCall, *args: Any, **kwargs: Any) -> Values:
    """The names and values that a tracker's function is given."""
    given: list[Any] = [
        kwargs[word] if word in kwargs else args[place] if place < len(args) else None
        for place, word in enumerate(call.words, call.first)
    ]
    match call.shape:
        case "mapping":
            yield from ((str(name), shown(value)) for name, value in given[0].items())
        case "pair":
            yield str(given[0]), shown(given[1])
        case "named":
            yield str(given[1]), shown(given[0])
        case "batch":
            yield from ((str(each.key), shown(each.value)) for each in (each for part in given for each in part or ()))


def shown(value: Any) -> Any:
    """The value as it is kept: a tracker's value object by its content or its kind, never by its address."""
    if isinstance(value, dict):
        return {str(name): shown(item) for name, item in value.items()}
    if type(value) in (list, tuple):
        return [shown(item) for item in value]
    cls: Any = type(value)
    names = SHOWN.get(f"{cls.__module__}:{cls.__qualname__}")
    if names is not None:
        return {name: getattr(value, name, None) for name in names}
    return cls.__name__ if cls.__repr__ is object.__repr__ else value
