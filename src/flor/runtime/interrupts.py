"""Signals of the script's that arrive while a function of ours runs: their handlers wait until it has returned.

A handler that raises, as one of a timeout does, would otherwise raise inside our code, which keeps its own failures
from the script. So the exception could be lost, or our state be left half changed.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _thread
import os
import signal
import sys
import time
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, TypeVar

from flor.store import threads

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
FIRST, LONGEST = 0.5e-3, 20e-3  # seconds after which a signal is tried again
Handler = Callable[[int, FrameType | None], Any]
Function = TypeVar("Function", bound=Callable[..., Any])

transparent: set[CodeType] = set()
"""Functions of ours under which code of the script or of a library runs, and which keep no failure of their own."""

bottom: set[CodeType] = set()
"""Functions of ours that run the whole script."""

pending: dict[int, Waiting] = {}
"""Handlers that wait, by the number of their signal; asked at the end of each hook."""


def lets_through(function: Function) -> Function:
    """Mark a function under which a handler may run at once."""
    transparent.add(function.__code__)
    return function


def runs_the_script(function: Function) -> Function:
    """Mark the function under which the script runs."""
    bottom.add(function.__code__)
    return function


def is_ours(frame: FrameType | None) -> bool:
    """True if a function of ours is at work: it is interrupted itself, or has called what is."""
    while frame is not None:
        code = frame.f_code
        if code in bottom:
            return False
        if code.co_filename.startswith(PACKAGE) and code not in transparent:
            return True
        frame = frame.f_back
    return False


def deliver() -> None:
    """Run the handlers that wait; what they raise comes out."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    for number in list(pending):
        waiting = pending.pop(number, None)
        if waiting is not None:
            waiting.handler(number, frame)


class Waiting:
    """Stands in the interpreter's table for a handler of the script's."""

    def __init__(self, handler: Handler, number: int) -> None:
        self.handler = handler
        self.number = number
        self.delay = FIRST

    @property
    def __call__(self) -> Handler:
        """What the interpreter calls: the handler itself, with no frame of ours around it, or what lets it wait."""
        if is_ours(sys._getframe(1)):
            return self._wait
        self.delay = FIRST
        return self.handler

    def _wait(self, number: int, frame: FrameType | None) -> None:
        pending[number] = self
        delay, self.delay = self.delay, min(2 * self.delay, LONGEST)

        def again() -> None:
            time.sleep(delay)
            if pending.pop(number, None) is not None:
                _thread.interrupt_main(number)  # type: ignore[arg-type]

        try:
            threads.start(again)  # for ways out of our code that do not ask whether a handler waits
        except RuntimeError:
            pass


class SignalWatch:
    """Has the handlers that a script installs wait while our code runs; the script sees its own handlers."""

    def __init__(self) -> None:
        self.real: tuple[Any, Any] | None = None

    def install(self) -> None:
        """Stand behind `signal.signal` and `signal.getsignal`."""
        self.real = put, get = _signal.signal, _signal.getsignal

        def install(number: Any, handler: Any, /) -> Any:
            if pending:
                deliver()
            kept = handler if not _may_wait(handler) else Waiting(handler, int(number))
            return _own(put(number, kept))

        def installed(number: Any, /) -> Any:
            return _own(get(number))

        _signal.signal, _signal.getsignal = install, installed

    def remove(self) -> None:
        """Put the script's handlers where ours stand for them."""
        if self.real is None:
            return
        (put, get), self.real = self.real, None
        _signal.signal, _signal.getsignal = put, get
        for number in signal.valid_signals():
            handler = get(number)
            if type(handler) is Waiting:
                try:
                    put(number, handler.handler)
                except ValueError:
                    return  # not the main thread


def _may_wait(handler: Any) -> bool:
    """True for a function of the script's or a library's; asyncio's does nothing, and counts each call."""
    module = getattr(handler, "__module__", None) or ""
    return callable(handler) and handler is not _signal.default_int_handler and not module.startswith("asyncio.")


def _own(handler: Any) -> Any:
    return handler.handler if type(handler) is Waiting else handler
