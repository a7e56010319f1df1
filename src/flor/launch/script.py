"""Runs a file as a true `__main__`, in this process."""

from __future__ import annotations

import builtins
import os
import runpy
import sys
from collections.abc import Callable
from importlib.machinery import PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from flor.launch.compiling import Compiler
from flor.launch.project import PACKAGE
from flor.launch.target import Target, set_path
from flor.runtime import hooks
from flor.runtime.interrupts import runs_the_script
from flor.state.settings import SURROUNDINGS

Hook = Callable[[type[BaseException], BaseException, TracebackType | None], Any]


@runs_the_script
def run(target: Target, compiler: Compiler) -> None:
    """Execute the target; whatever it raises comes out, with a hook set that hides our frames."""
    module = make_main(target)
    sys.modules["__main__"] = module
    sys.argv[:] = target.argv
    set_path(target.path_entry)
    forget_shadowed(target.path_entry)
    SURROUNDINGS.begin()
    try:
        if target.module is not None:
            run_module(target.module)
        else:
            exec(compiler.compile(Path(target.path).read_bytes(), target.path, "__main__"), module.__dict__)
    except BaseException:
        sys.excepthook = without_our_frames(sys.excepthook)
        raise


def run_module(name: str) -> None:
    """Run a module by the very function that `python -m` calls; our import hook gives it the code."""
    by_option = name != "__main__"  # else it is the `__main__` of a folder or an archive
    if by_option:
        sys.argv[0] = "-m"  # what the packages around it see while they are imported
    runpy._run_module_as_main(name, by_option)  # type: ignore[attr-defined]


def make_main(target: Target) -> ModuleType:
    """An empty `__main__` with the names that Python gives it."""
    module = ModuleType("__main__")
    module.__dict__.update(
        __file__=target.path,
        __builtins__=builtins,
        __annotations__={},
        __loader__=SourceFileLoader("__main__", target.path),
        __cached__=None,
        _flor=hooks,
    )
    return module


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
        _trim_causes(error)
        try:
            hook(kind, error.with_traceback(users), users)
        except Exception as second:
            _hook_failed(second, error)

    return shown


def _trim_causes(error: BaseException) -> None:
    """Take our frames out of the tracebacks that are shown above this one."""
    known: set[int] = {id(error)}
    left = [error.__cause__, error.__context__]
    while left:
        cause = left.pop()
        if cause is not None and id(cause) not in known:
            known.add(id(cause))
            cause.__traceback__ = trimmed(cause.__traceback__)
            left += [cause.__cause__, cause.__context__]


def _hook_failed(second: BaseException, first: BaseException) -> None:
    """Say what Python says when a hook raises; it would show our frame."""
    say = sys.stderr.write
    say("Error in sys.excepthook:\n")
    trace = second.__traceback__.tb_next if second.__traceback__ else None
    sys.__excepthook__(type(second), second.with_traceback(trace), trace)
    say("\nOriginal exception was:\n")
    sys.__excepthook__(type(first), first, first.__traceback__)


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
