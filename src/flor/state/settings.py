"""Settings of the interpreter and of loaded libraries that a script may change on its way."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from flor.state import loaded

Values = dict[str, Any]
SECRET = re.compile("KEY|TOKEN|SECRET|PASS|CRED", re.IGNORECASE)
"""Environment variables so called are never stored."""


class Settings:
    """Stands for all settings that change what a program computes or prints; compared and restored."""

    def read(self) -> Values:
        """Each setting as a plain value; those of libraries that are not loaded are left out."""
        found: Values = {"recursion_limit": sys.getrecursionlimit()}
        for name, (read, _) in _TEXTS.items():
            with contextlib.suppress(Exception):
                found[name] = json.dumps(read())
        return found

    def write(self, values: Mapping[str, Any]) -> None:
        """Change those that differ."""
        now = self.read()
        changed = {name: value for name, value in values.items() if name in now and now[name] != value}
        if "recursion_limit" in changed:
            sys.setrecursionlimit(changed["recursion_limit"])
        for name in changed.keys() & _TEXTS.keys():
            _TEXTS[name][1](json.loads(changed[name]))


class Surroundings:
    """Stands for the working folder, the environment and log levels; restored, but another process may have others."""

    def read(self) -> Values:
        """The folder, and the variables that were changed since the process began."""
        began = _first_environment()
        changed = {name: value for name, value in os.environ.items() if began.get(name) != value}
        kept = {name: value for name, value in sorted(changed.items()) if not SECRET.search(name)}
        return {"folder": os.getcwd(), "environment": json.dumps(kept), "logging": _logging()}

    def write(self, values: Mapping[str, Any]) -> None:
        """Go there, and set what was set."""
        if os.getcwd() != values["folder"]:
            os.chdir(values["folder"])
        for name, value in json.loads(values["environment"]).items():
            if os.environ.get(name) != value:
                os.environ[name] = value
        if values["logging"] != _logging():
            _set_logging(json.loads(values["logging"]))


SETTINGS, SURROUNDINGS = Settings(), Surroundings()


@cache
def _first_environment() -> dict[str, str]:
    """What the process was started with; where the system does not tell, what it has when first asked."""
    try:
        pairs = Path("/proc/self/environ").read_bytes().split(b"\0")
    except OSError:
        return dict(os.environ)
    return dict(os.fsdecode(pair).split("=", 1) for pair in pairs if b"=" in pair)


def _logging() -> str:
    """The levels that were set."""
    known = {"": logging.root, **logging.root.manager.loggerDict}
    levels = {name: found.level for name, found in known.items() if isinstance(found, logging.Logger) and found.level}
    return json.dumps([logging.root.manager.disable, dict(sorted(levels.items()))])


def _set_logging(saved: tuple[int, dict[str, int]]) -> None:
    disabled, levels = saved
    logging.disable(disabled)
    for name, level in levels.items():
        logging.getLogger(name or None).setLevel(level)


def _decimal() -> Any:
    context = sys.modules["decimal"].getcontext()
    return [context.prec, context.rounding, context.capitals]


def _set_decimal(saved: Any) -> None:
    context = sys.modules["decimal"].getcontext()
    context.prec, context.rounding, context.capitals = saved


def _numpy_print() -> Any:
    return loaded.numpy().get_printoptions()


def _set_numpy_print(saved: dict[str, Any]) -> None:
    loaded.numpy().set_printoptions(**{name: saved[name] for name in _SETTABLE if name in saved})


_SETTABLE = (
    "precision", "threshold", "edgeitems", "linewidth", "suppress", "nanstr", "infstr", "sign", "floatmode", "legacy"
)  # fmt: skip


def _torch_numbers() -> Any:
    torch = loaded.torch()
    return [
        str(torch.get_default_dtype()).removeprefix("torch."),
        torch.get_float32_matmul_precision(),
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        torch.is_anomaly_enabled(),
    ]


def _set_torch_numbers(saved: list[Any]) -> None:
    torch = loaded.torch()
    dtype, precision, deterministic, warn_only, anomaly = saved
    torch.set_default_dtype(getattr(torch, dtype))
    torch.set_float32_matmul_precision(precision)
    torch.use_deterministic_algorithms(deterministic, warn_only=warn_only)
    torch.autograd.set_detect_anomaly(anomaly)


def _torch_print() -> Any:
    options = sys.modules["torch._tensor_str"].PRINT_OPTS
    return {name: getattr(options, name) for name in ("precision", "threshold", "edgeitems", "linewidth", "sci_mode")}


def _set_torch_print(saved: dict[str, Any]) -> None:
    for name, value in saved.items():
        setattr(sys.modules["torch._tensor_str"].PRINT_OPTS, name, value)


_TEXTS: dict[str, tuple[Callable[[], Any], Callable[[Any], None]]] = {
    "decimal": (_decimal, _set_decimal),
    "numpy_errors": (lambda: loaded.numpy().geterr(), lambda saved: loaded.numpy().seterr(**saved)),
    "numpy_print": (_numpy_print, _set_numpy_print),
    "torch_grad": (lambda: loaded.torch().is_grad_enabled(), lambda saved: loaded.torch().set_grad_enabled(saved)),
    "torch_numbers": (_torch_numbers, _set_torch_numbers),
    "torch_print": (_torch_print, _set_torch_print),
}
"""How each is read and put; reading raises where the library is not loaded."""
