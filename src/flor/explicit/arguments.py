"""`flor.arg`: a parameter of the run, by name."""

from __future__ import annotations

import ast
import sys
from typing import Any, TypeVar

from flor.errors import BadArgument
from flor.explicit.beginning import begun
from flor.model.records import Channel
from flor.runtime.explicit.session import ExplicitSession

Value = TypeVar("Value")
OPTION = "--kwargs"
KINDS = (bool, int, float, str, type(None))
TRUTHS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def arg(name: str, default: Value) -> Value:
    """The parameter's value: as recorded in a replay, as `--kwargs name=value` says, or the default."""
    if not isinstance(default, KINDS):
        raise BadArgument(f"flor.arg({name!r}) has a default of type {type(default).__name__}.", todo=_TODO)
    session = begun()
    value = _recorded(session, name, given(name, default, sys.argv))
    if session is not None and session.logbook is not None:
        session.logbook.value(Channel.FLOR, name, value, sys._getframe(1))
    return value  # type: ignore[no-any-return]


_TODO = "It may be None, a bool, a number or a text."


def _recorded(session: Any, name: str, value: Any) -> Any:
    """What the run had, where a replay was begun as a plain script; a worker has the recorded command line anyway."""
    if isinstance(session, ExplicitSession) and session.steering is not None:
        try:
            return session.steering.argument(name)
        except KeyError:
            return value
    return value


def given(name: str, default: Any, argv: list[str]) -> Any:
    """What the command line says, in the type of the default."""
    words = list(_words(argv))
    for word in words:
        if "=" not in word:
            raise BadArgument(f"{OPTION} {word!r} is not of the form name=value.", where="the script's command line")
    found = [word.partition("=")[2] for word in words if word.partition("=")[0] == name]
    return _converted(name, found[-1], default) if found else default


def _words(argv: list[str]) -> list[str]:
    """All words behind `--kwargs`, up to the next option."""
    words: list[str] = []
    taking = False
    for word in argv[1:]:
        if word == OPTION or (word.startswith("-") and "=" not in word):
            taking = word == OPTION
        elif taking:
            words.append(word)
    return words


def _converted(name: str, text: str, default: Any) -> Any:
    try:
        if isinstance(default, bool):
            return TRUTHS[text.lower()]
        if isinstance(default, int | float):
            return type(default)(text)
        return _literal(text) if default is None else text
    except (KeyError, ValueError):
        kind = type(default).__name__
        raise BadArgument(f"{OPTION} {name}={text} is no {kind}.", where="the script's command line") from None


def _literal(text: str) -> Any:
    """A number or a truth if it reads as one, else the text."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return value if isinstance(value, KINDS) else text
