"""What the script has chosen to happen at signals."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import signal
import sys
import threading
from functools import cache, partial
from typing import Any

from flor.state.names import library_folders

IGNORED = frozenset(number for name in ("SIGPIPE", "SIGXFSZ") if (number := getattr(signal, name, None)))
"""Python itself begins with these ignored."""

_DEFAULT, _IGNORE = int(signal.SIG_DFL), int(signal.SIG_IGN)


def handlers() -> dict[str, Any]:
    """The handlers that are neither Python's own nor a library's, by the number of the signal."""
    found = {str(number): _handler(number) for number in _numbers()}
    return {number: handler for number, handler in found.items() if _is_own(handler)}


def unusual() -> list[list[int]]:
    """The signals that are ignored, and those that have the system's default, where Python begins otherwise."""
    now = {number: _handler(number) for number in _numbers()}
    ignored = [number for number, handler in now.items() if handler == _IGNORE and number not in IGNORED]
    default = [number for number, handler in now.items() if handler == _DEFAULT and _first(number) != _DEFAULT]
    return [ignored, default]


def put_unusual(saved: list[list[int]]) -> None:
    """Ignore these again, and let those have the system's default; others are as Python begins."""
    ignored, default = saved
    for number in _numbers():
        now = _handler(number)
        if type(now) is int or now is _signal.default_int_handler:
            _put(number, _IGNORE if number in ignored else _DEFAULT if number in default else _first(number))


def put(saved: dict[str, Any]) -> None:
    """Install these handlers; signals for which the script had none then are as Python begins."""
    for number in handlers():
        if number not in saved:
            _put(int(number), _first(int(number)))
    for number, handler in saved.items():
        _put(int(number), handler)


@cache
def _numbers() -> tuple[int, ...]:
    return tuple(sorted(map(int, signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})))


def _handler(number: int) -> Any:
    found = _signal.getsignal(number)
    return int(found) if isinstance(found, int) else found


def _put(number: int, handler: Any) -> None:
    if _handler(number) is not handler and threading.current_thread() is threading.main_thread():
        _signal.signal(number, handler)


def _first(number: int) -> Any:
    """What Python does at a signal before a program has said anything."""
    if number == signal.SIGINT:
        return _signal.default_int_handler
    return _IGNORE if number in IGNORED else _DEFAULT


def _is_own(handler: Any) -> bool:
    """True for a function or an object of the program's; handlers of libraries, a loader's for one, are left alone."""
    if handler is None or type(handler) is int or handler is _signal.default_int_handler:
        return False
    while isinstance(handler, partial):
        handler = handler.func
    of = handler if hasattr(handler, "__code__") or hasattr(handler, "__func__") else type(handler)
    name = getattr(of, "__module__", None) or ""
    if name not in sys.modules or name in sys.builtin_module_names:
        return False
    return not (getattr(sys.modules[name], "__file__", None) or "").startswith(library_folders())
