"""`flor.background(logger)`: an object that takes the logger's calls, and has them done elsewhere."""

from __future__ import annotations

import atexit
import inspect
import logging
import sys
from collections.abc import Callable, Iterable
from functools import partial
from types import ModuleType
from typing import Any, cast

from flor.errors import LoggerClosed, UsageError
from flor.runtime import current
from flor.runtime.background.activerun import pin_run
from flor.runtime.background.calls import Call, Lane, caller
from flor.runtime.background.results import NotWaitedFor
from flor.runtime.background.saying import say
from flor.runtime.background.server import MEMORY
from flor.runtime.background.snapshots import Unsnapshotable
from flor.runtime.background.summaries import MODULE, lane_of
from flor.runtime.background.thread import ThreadLane
from flor.runtime.tracing import is_tracing

WAITED_FOR = frozenset(
    ("flush", "finish", "join", "end_run", "start_run", "active_run", "get_logdir", "acquire", "release")
)
ONLY = {logging.Handler: frozenset(("handle", "emit"))}
"""Of these classes only these methods leave the thread; the others set what is read at each call."""


def background(logger: Any, *, wait: Iterable[str] = (), memory: int = MEMORY) -> Any:
    """Take a logger's calls off the training thread: they are done in order, elsewhere, on what they were given then.

    Methods named in `wait` are waited for and give back their result; so are `flush` and `close`.
    """
    if isinstance(logger, Background):
        raise UsageError("This logger is in the background already.", todo="wrap it once")
    return Background(logger, frozenset(wait), memory)


class Background:
    """Stands for a logger; its methods return at once, with nothing."""

    def __init__(self, logger: Any, wait: frozenset[str], memory: int) -> None:
        state = vars(self)
        state["_logger"] = logger
        state["_name"] = logger.__name__ if isinstance(logger, ModuleType) else type(logger).__name__
        state["_waited_for"] = WAITED_FOR | wait
        state["_only"] = next((names for kind, names in ONLY.items() if isinstance(logger, kind)), None)
        state["_lane"] = make_lane(logger, state["_name"], memory)
        state["_told"] = set()
        state["_closed"] = ""
        state["_here"] = in_replay()  # then its methods are the logger's own
        atexit.register(self._lane.close)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = getattr(self._logger, name)
        if callable(value) and not isinstance(value, type):
            return value if self._here else partial(self._call, name)
        if self._only is None:
            self._lane.wait()  # calls under way may change it
            value = getattr(self._logger, name)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        self._lane.wait()
        setattr(self._logger, name, value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._logger(*args, **kwargs) if self._here else self._call("__call__", *args, **kwargs)

    def __enter__(self) -> Background:
        if hasattr(self._logger, "__enter__"):
            self._logger.__enter__()
        return self

    def __exit__(self, *error: Any) -> Any:
        self._finish("close")
        return self._logger.__exit__(*error) if hasattr(self._logger, "__exit__") else self._close_logger()

    def __repr__(self) -> str:
        return f"<flor.background of {self._logger!r}>"

    def flush(self) -> None:
        """Return once everything is done, and flush the logger if it can be."""
        self._check_open("flush", caller(sys._getframe(1)))
        self._lane.wait()
        if hasattr(self._logger, "flush"):
            self._logger.flush()

    def close(self) -> None:
        """Return once everything is done, and close the logger if it can be; the second time does nothing."""
        if not self._closed:
            self._finish("close")
            self._close_logger()

    def _finish(self, method: str) -> None:
        atexit.unregister(self._lane.close)
        self._lane.close()
        vars(self)["_closed"] = f"{method}() at {caller(sys._getframe(1))}"

    def _close_logger(self) -> None:
        if hasattr(self._logger, "close"):
            self._logger.close()

    def _check_open(self, method: str, where: str) -> None:
        if self._closed:
            what = f"{self._name}.{method}() was called after {self._closed}."
            raise LoggerClosed(what, where=where, todo="close a logger after its last call")

    def _call(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """Have a method done elsewhere, or here if that is not possible; in order in both cases."""
        frame = sys._getframe(1)
        where = caller(frame)
        self._check_open(name, where)
        function, note = real_method(self._logger, name)
        if note is not None:
            note((self._logger, *args) if inspect.ismethod(getattr(self._logger, name)) else args, kwargs, frame)
        pinned = pin_run(self._logger, function, kwargs)
        if pinned is None or self._stays(name) or not self._sent(Call(name, function, args, pinned, where)):
            self._lane.wait()
            return function(*args, **kwargs)
        return NotWaitedFor(f"{self._name}.{name}()", where)

    def _stays(self, name: str) -> bool:
        return name in self._waited_for or (self._only is not None and name not in self._only) or is_tracing()

    def _sent(self, call: Call) -> bool:
        try:
            return cast(Lane, self._lane).send(call)
        except (Unsnapshotable, RecursionError) as reason:
            if call.method not in self._told:
                self._told.add(call.method)
                say(
                    f"{self._name}.{call.method}() at {call.where} is given {reason}, which may change after the call: "
                    "such calls are done on the training thread [called-at-once]"
                )
            return False


def make_lane(logger: Any, name: str, memory: int) -> Lane:
    """A process for torch's SummaryWriter, whose work would hold up training; a thread for everything else."""
    kind = type(logger)
    is_torchs_own = f"{kind.__module__}.{kind.__qualname__}" == f"{MODULE}.SummaryWriter"
    lane = lane_of(logger) if is_torchs_own and not in_replay() else None
    return lane if lane is not None else ThreadLane(name, memory)


def in_replay() -> bool:
    """True in a worker of a replay: it redirects files within the process, and knows probes by their frames."""
    conductor: Any = getattr(current.session, "conductor", None)
    if conductor is None:
        return False
    from flor.runtime.replaying import Replayer

    return isinstance(getattr(conductor, "conductor", conductor), Replayer)


Note = Callable[[tuple[Any, ...], dict[str, Any], Any], None]


def real_method(logger: Any, name: str) -> tuple[Callable[..., Any], Note | None]:
    """A method without the listener that a recorded run has put around it, and that listener."""
    method = getattr(logger, name)
    function = getattr(method, "__func__", method)
    note = getattr(function, "flor_note", None)
    if note is None:
        return method, None
    real = function
    while hasattr(real, "flor_note"):  # whoever wraps the listener once more has that too
        real = real.__wrapped__
    return (partial(real, logger) if function is not method else real), note
