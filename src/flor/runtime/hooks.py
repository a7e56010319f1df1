"""What instrumented code calls: the module that it knows as `_flor`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from threading import get_ident
from typing import Any, TypeVar

from flor.runtime import api, current
from flor.runtime.interrupts import deliver, pending
from flor.runtime.readings import stand_in

Value = TypeVar("Value")
PRINT = print
PLAIN = frozenset({str, int, float, bool, type(None)})  # what becomes text without a line of Python


def _never() -> bool:
    return False


# Once torch is imported this is torch.compiler.is_dynamo_compiling, which torch.compile knows to be constantly
# True: it then prunes the rest of these functions, so that a loop in a compiled function stays one graph.
compiling: Callable[[], bool] = _never


def iterate(loop: str, iterable: Iterable[Any]) -> Iterable[Any]:
    """A `for` loop begins: what it iterates over."""
    if compiling():
        return iterable
    session = current.session
    if session is None or session.thread != get_ident():
        return iterable
    try:
        items = session.iterate(loop, iterable, sys._getframe(1))
    except RecursionError:  # whether the user's recursion is too deep is not ours to say; so in all of these
        return iterable
    if pending:  # a handler of the script's waits for our end; so in all of these
        deliver()
    return items


def begin(loop: str) -> None:
    """A `while` loop begins."""
    if compiling():
        return
    session = current.session
    if session is not None and session.thread == get_ident():
        try:
            session.start_while(loop, sys._getframe(1))
        except RecursionError:
            pass
        if pending:
            deliver()


def turn(loop: str) -> bool:
    """An iteration of a `while` loop is about to be tested; False ends it."""
    if compiling():
        return True
    session = current.session
    if session is None or session.thread != get_ident():
        return True
    try:
        goes_on = session.turn(loop, sys._getframe(1))
    except RecursionError:
        return True
    if pending:
        deliver()
    return goes_on


def done(loop: str) -> None:
    """A loop ended by exhaustion or `break`."""
    if compiling():
        return
    session = current.session
    if session is not None and session.thread == get_ident():
        try:
            session.done(loop, sys._getframe(1))
        except RecursionError:
            pass
        if pending:
            deliver()


def end(loop: str) -> None:
    """A loop was left in any way."""
    if compiling():
        return
    session = current.session
    if session is not None and session.thread == get_ident():
        try:
            session.end(loop, sys._getframe(1))
        except RecursionError:
            pass
        if pending:
            deliver()


def probing(place: str) -> None:
    """A probe that might disturb training is about to run."""
    session = current.session
    if session is not None and session.thread == get_ident():
        session.conductor.probing(place, sys._getframe(1))


def probed(place: str) -> None:
    """That probe has run."""
    session = current.session
    if session is not None and session.thread == get_ident():
        session.conductor.probed(place, sys._getframe(1))


def enter(function: str) -> None:
    """A function of the project is entered."""
    session = current.session
    if session is not None and (session.context, function) not in session.entered and session.thread == get_ident():
        try:
            session.enter(function)
        except RecursionError:
            pass


def log(statement: str, name: str, value: Value) -> Value:
    """`flor.log` at a statement whose place the instrumenter knows, so that no frame has to be asked for it."""
    if compiling():
        return api.log(name, value)
    session = current.session
    if session is not None and session.logbook is not None:
        session.logbook.at(statement, name, value)
        if pending:
            deliver()
    return value


def reading(value: Value) -> Value:
    """A function that may tell something of the world: its stand-in, if it has one."""
    return value if compiling() else stand_in(value)


def say(function: Callable[..., Any], *values: Any, **how: Any) -> Any:
    """`print` in a probe: in one piece, where nobody but us can tell that from the many that it writes."""
    if function is PRINT and not how and not compiling():
        session = current.session
        write = getattr(sys.stdout, "write", None)
        logbook = session.logbook if session is not None else None
        ours = write is not None and logbook is not None and write is logbook.write_stdout
        if ours and all(type(value) in PLAIN for value in values):
            write(" ".join(map(str, values)) + "\n")  # type: ignore[misc]
            return None
    return function(*values, **how)


# torch.compile runs a function so marked once, when it traces, and takes the result as a constant.
enter._dynamo_marked_constant = True  # type: ignore[attr-defined]
