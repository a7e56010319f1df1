"""Background logging without an edit: summary writers are wrapped when their library is imported."""

from __future__ import annotations

import atexit
import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from flor.runtime.background.calls import Call, Lane, here
from flor.runtime.background.server import MEMORY
from flor.runtime.background.snapshots import Unsnapshotable
from flor.runtime.background.summaries import ELSEWHERE, MODULE, lane_of
from flor.runtime.background.thread import ThreadLane
from flor.runtime.imports import ImportWatch
from flor.runtime.tracing import is_tracing


class BackgroundLogging:
    """Lets the calls of every SummaryWriter leave the training thread."""

    def __init__(self, imports: ImportWatch) -> None:
        self.imports = imports
        self.lanes: WeakKeyDictionary[Any, ThreadLane] = WeakKeyDictionary()
        self.undo: list[Callable[[], None]] = []

    def install(self) -> None:
        """Wrap now or at import; before the logbook does, so that it hears each call where it is made."""
        self.imports.when(MODULE, lambda module: self._wrap(module, self._process_of))
        self.imports.when("tensorboardX.writer", lambda module: self._wrap(module, self._thread_of))

    def remove(self) -> None:
        """Unwrap."""
        while self.undo:
            self.undo.pop()()

    def _wrap(self, module: ModuleType, find: Callable[[Any], Lane | None]) -> None:
        owner = module.SummaryWriter
        for name in sorted(ELSEWHERE & vars(owner).keys()):
            self._put(owner, name, sender(name, vars(owner)[name], find))
        for name in ("flush", "close"):
            if name in vars(owner):
                self._put(owner, name, self._waiter(vars(owner)[name]))

    def _put(self, owner: Any, name: str, function: Callable[..., Any]) -> None:
        real = vars(owner)[name]
        setattr(owner, name, function)
        self.undo.append(lambda: setattr(owner, name, real))

    def _process_of(self, writer: Any) -> Lane | None:
        return lane_of(writer) or self._thread_of(writer)

    def _thread_of(self, writer: Any) -> ThreadLane:
        lane = self.lanes.get(writer)
        if lane is None:
            lane = self.lanes[writer] = ThreadLane(type(writer).__name__, MEMORY)
            atexit.register(lane.close)
        return lane

    def _waiter(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """The writer's `flush` or `close`, after everything that was sent."""

        @functools.wraps(real)
        def after_all(writer: Any, *args: Any, **kwargs: Any) -> Any:
            lane = self.lanes.get(writer)
            if lane is not None:
                lane.wait()
            return real(writer, *args, **kwargs)

        return after_all


def sender(name: str, real: Callable[..., Any], find: Callable[[Any], Lane | None]) -> Callable[..., Any]:
    """A method that sends itself, and is done here where it cannot be sent: never wrong, at worst slow."""

    @functools.wraps(real)
    def sent(writer: Any, *args: Any, **kwargs: Any) -> Any:
        lane = None if is_tracing() else find(writer)
        if lane is not None:
            try:
                if lane.send(Call(name, functools.partial(real, writer), args, kwargs, here())):
                    return None
            except (Unsnapshotable, RecursionError):
                lane.wait()
        return real(writer, *args, **kwargs)

    return sent
