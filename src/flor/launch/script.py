"""Runs a file as a true `__main__`, in this process."""

from __future__ import annotations

import builtins
import os
import sys
from collections.abc import Callable
from importlib.machinery import PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from flor.launch.compiling import Compiler
from flor.launch.project import PACKAGE
from flor.launch.target import Target
from flor.runtime import hooks

Hook = Callable[[type[BaseException], BaseException, TracebackType | None], Any]


def run(target: Target, compiler: Compiler) -> None:
    """Execute the target; whatever it raises comes out, with a hook set that hides our frames."""
    text = Path(target.path).read_bytes()
    module = make_main(target)
    sys.modules["__main__"] = module
    sys.argv[:] = target.argv
    set_path(target)
    forget_shadowed(target.path_entry)
    try:
        code = compiler.compile(text, target.path, "__main__")
        exec(code, module.__dict__)
    except BaseException:
        sys.excepthook = without_our_frames(sys.excepthook)
        raise


def make_main(target: Target) -> ModuleType:
    """An empty `__main__` with the names that Python gives it."""
    module = ModuleType("__main__")
    spec = target.spec
    module.__dict__.update(
        __file__=target.path,
        __builtins__=builtins,
        __annotations__={},
        __spec__=spec,
        __package__=spec.parent if spec else None,
        __loader__=spec.loader if spec else SourceFileLoader("__main__", target.path),
        __cached__=spec.cached if spec else None,
        _flor=hooks,
    )
    return module


def set_path(target: Target) -> None:
    """`sys.path[0]` as Python would have it; what started us had put its own there."""
    if sys.flags.safe_path:
        return
    if sys.path and _is_ours(sys.path[0]):
        del sys.path[0]
    if sys.path[:1] != [target.path_entry]:
        sys.path.insert(0, target.path_entry)


def _is_ours(entry: str) -> bool:
    """True for the entry that starting flor has made: the folder of the command, or the current one for `-m`."""
    command = os.path.dirname(os.path.abspath(getattr(sys, "orig_argv", [""])[0]))
    return entry in ("", os.getcwd(), command, os.path.dirname(sys.executable))


def forget_shadowed(folder: str) -> None:
    """Forget modules that we imported and that the script's folder has under the same name, so the user's are found."""
    try:
        entries = os.listdir(folder)
    except OSError:
        return
    mine = {entry.removesuffix(".py") for entry in entries if entry.endswith(".py") or "." not in entry}
    for name in sorted(mine & sys.modules.keys()):
        spec = None if name in sys.builtin_module_names or name == "__main__" else PathFinder.find_spec(name, [folder])
        if spec is None or spec.origin is None:
            continue
        loaded = getattr(sys.modules[name], "__file__", None)
        if name != "flor" and loaded and os.path.realpath(loaded) != os.path.realpath(spec.origin):
            for other in [key for key in sys.modules if key == name or key.startswith(name + ".")]:
                del sys.modules[other]


def without_our_frames(hook: Hook) -> Hook:
    """The user's excepthook, or Python's, given a traceback that begins with the user's first line."""
    if os.environ.get("FLOR_DEBUG"):
        return hook

    def shown(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        users = trimmed(trace)
        hook(kind, error.with_traceback(users), users)

    return shown


def trimmed(trace: TracebackType | None) -> TracebackType | None:
    """The traceback from the user's first line on, without frames of ours in between."""
    at = trace
    while at is not None and at.tb_frame.f_code is not run.__code__:
        at = at.tb_next
    first = _next_shown(at) if at is not None else trace
    at = first
    while at is not None:
        at.tb_next = _next_shown(at)
        at = at.tb_next
    return first


def _next_shown(trace: TracebackType) -> TracebackType | None:
    """The next entry that is not ours."""
    following = trace.tb_next
    while following is not None and following.tb_frame.f_code.co_filename.startswith(PACKAGE):
        following = following.tb_next
    return following
