"""Settings of the interpreter and of loaded libraries that a script may change on its way."""

from __future__ import annotations

import contextlib
import gc
import json
import logging
import os
import re
import sys
import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from flor.state import loaded, signals, torchflags
from flor.state.names import lookup, name_of

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

    def objects(self) -> Values:
        """Functions that the script has handed to libraries, and tables of settings that libraries keep."""
        numpy, found = loaded.numpy(), Values(signals=signals.handlers())
        if numpy is not None:
            found["numpy_formatter"] = numpy.get_printoptions().get("formatter")
            found["numpy_errcall"] = numpy.geterrcall()
        options = loaded.attribute("pandas._config.config", "_global_config")
        if options is not None:
            found["pandas"] = options
        figures = loaded.attribute("matplotlib", "rcParams")
        if figures is not None:
            found["matplotlib"] = {name: value for name, value in dict.items(figures) if name != "backend"}
        return found

    def put(self, values: Mapping[str, Any]) -> None:
        """Hand them over again; a table was changed in place."""
        now = self.objects()
        if "signals" in values:
            signals.put(values["signals"])
            signals.put_unusual(json.loads(values["signal_defaults"]))
        if "numpy_formatter" in values and values["numpy_formatter"] != now.get("numpy_formatter"):
            loaded.numpy().set_printoptions(formatter=values["numpy_formatter"])
        if "numpy_errcall" in values and values["numpy_errcall"] is not now.get("numpy_errcall"):
            loaded.numpy().seterrcall(values["numpy_errcall"])
        if "matplotlib" in values and "matplotlib" in now:
            dict.update(loaded.attribute("matplotlib", "rcParams"), values["matplotlib"])


class Surroundings:
    """Stands for the working folder, the environment and the like; restored, but another process may have others."""

    def __init__(self) -> None:
        self.first: dict[str, str] | None = None

    def begin(self) -> None:
        """The script is about to begin: what the environment is now, it is not by its doing."""
        self.first = dict(os.environ)

    def read(self) -> Values:
        """The folder, the variables that the script has changed or deleted, and settings of the process."""
        began, present = self._began(), dict(os.environ)
        changed = {name: value for name, value in present.items() if began.get(name) != value}
        kept = {name: value for name, value in sorted(changed.items()) if not SECRET.search(name)}
        found = {"folder": os.getcwd(), "environment": json.dumps(kept), "logging": _logging()}
        found["deleted"] = json.dumps(sorted(name for name in began if name not in present))
        for name, (read, _) in _OF_PROCESS.items():
            with contextlib.suppress(Exception):
                found[name] = json.dumps(read())
        return found

    def write(self, values: Mapping[str, Any]) -> None:
        """Go there, and set what was set."""
        if os.getcwd() != values["folder"]:
            os.chdir(values["folder"])
        self._write_environment(json.loads(values["environment"]), json.loads(values.get("deleted", "[]")))
        if values["logging"] != _logging():
            _set_logging(json.loads(values["logging"]))
        now = self.read()
        for name, (_, write) in _OF_PROCESS.items():
            if name in values and name in now and values[name] != now[name]:
                with contextlib.suppress(OSError, ValueError):  # a locale that this machine does not have
                    write(json.loads(values[name]))

    def objects(self) -> Values:
        """There are none."""
        return {}

    def put(self, values: Mapping[str, Any]) -> None:
        """Nothing is left to do."""

    def _began(self) -> dict[str, str]:
        return _first_environment() if self.first is None else self.first

    def _write_environment(self, changed: dict[str, str], deleted: list[str]) -> None:
        """What the script had changed by then; all else as it was when it began."""
        wanted = {name: value for name, value in self._began().items() if name not in deleted} | changed
        for name in sorted(os.environ.keys() | wanted.keys()):
            if SECRET.search(name) or os.environ.get(name) == wanted.get(name):
                continue
            if name in wanted:
                os.environ[name] = wanted[name]
            else:
                del os.environ[name]
            if name == "TZ":
                time.tzset()


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
    signals = [[str(name) for name, on in table.items() if on] for table in (context.flags, context.traps)]
    names = [sorted(name.rpartition(".")[2].rstrip("'>") for name in some) for some in signals]
    return [context.prec, context.rounding, context.capitals, context.Emin, context.Emax, context.clamp, *names]


def _set_decimal(saved: Any) -> None:
    context = sys.modules["decimal"].getcontext()
    context.prec, context.rounding, context.capitals = saved[:3]
    if len(saved) > 3:
        context.Emin, context.Emax, context.clamp = saved[3:6]
        for table, names in zip((context.flags, context.traps), saved[6:], strict=True):
            for signal in table:
                table[signal] = signal.__name__ in names


def _numpy_print() -> Any:
    options = loaded.numpy().get_printoptions()
    return {name: options[name] for name in _SETTABLE if name in options}


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
    "signal_defaults": (signals.unusual, signals.put_unusual),
    "numpy_errors": (lambda: loaded.numpy().geterr(), lambda saved: loaded.numpy().seterr(**saved)),
    "numpy_print": (_numpy_print, _set_numpy_print),
    "text_digits": (sys.get_int_max_str_digits, sys.set_int_max_str_digits),
    "torch_flags": (torchflags.flags, torchflags.set_flags),
    "torch_grad": (lambda: loaded.torch().is_grad_enabled(), lambda saved: loaded.torch().set_grad_enabled(saved)),
    "torch_numbers": (_torch_numbers, _set_torch_numbers),
    "torch_print": (_torch_print, _set_torch_print),
    "torch_threads": (torchflags.threads, torchflags.set_threads),
}
"""How each is read and put; reading raises where the library is not loaded."""


def _umask() -> int:
    """The mask for new files, as Linux tells it; to ask by `os.umask` would change it for other threads."""
    file = os.open("/proc/self/status", os.O_RDONLY | os.O_CLOEXEC)
    try:
        head = os.read(file, 256).split(b"\n")  # it is the second line
    finally:
        os.close(file)
    return next(int(line.split()[1], 8) for line in head if line.startswith(b"Umask:"))


def _filters() -> list[Any]:
    """The filters of warnings, as text."""
    return [
        [action, _pattern(message), name_of(category), _pattern(module), line]
        for action, message, category, module, line in sys.modules["warnings"].filters
    ]


def _pattern(found: Any) -> Any:
    return found if found is None or isinstance(found, str) else [found.pattern, found.flags]


def _set_filters(saved: list[Any]) -> None:
    warnings = sys.modules["warnings"]
    found = [
        (action, _compiled(message), lookup(category), _compiled(module), line)
        for action, message, category, module, line in saved
    ]
    if all(isinstance(category, type) for _, _, category, _, _ in found):
        warnings.filters[:] = found
        warnings._filters_mutated()


def _compiled(saved: Any) -> Any:
    return re.compile(*saved) if isinstance(saved, list) else saved


_OF_PROCESS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "collection": (gc.get_threshold, lambda saved: gc.set_threshold(*saved)),
    "locale": (
        lambda: sys.modules["locale"].setlocale(sys.modules["locale"].LC_ALL),
        lambda saved: sys.modules["locale"].setlocale(sys.modules["locale"].LC_ALL, saved),
    ),
    "socket_timeout": (
        lambda: sys.modules["socket"].getdefaulttimeout(),
        lambda saved: sys.modules["socket"].setdefaulttimeout(saved),
    ),
    "switching": (sys.getswitchinterval, sys.setswitchinterval),
    "umask": (_umask, os.umask),
    "warnings": (_filters, _set_filters),
}
"""The same for what another process may have otherwise."""
