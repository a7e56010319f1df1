"""What a checkpoint does not hold: handles of the operating system, code, and libraries whose state is elsewhere.

Everything else is taken by what its objects are made of. An *inert* object has no state of its own, or what is cheap
to know of it is kept (`outside`). An *opaque* one has state that can't be captured: it is noted as unaccounted, and a
checkpoint is not used where the program reads it afterwards. An *output* family is captured and restored, but not
compared, since it holds times and rates; what can't be captured in it is unaccounted, too.
"""

from __future__ import annotations

from collections.abc import Callable

from flor.model.trackers import TRACKERS

INERT = {
    "importlib": "import machinery",
    "_frozen_importlib": "import machinery",
    "_frozen_importlib_external": "import machinery",
    "typing": "type hint",
    "numba": "compiled code",
    "triton": "compiled code",
    "torch.jit": "compiled code",
    "torch._dynamo": "compiled code",
    "torch._inductor": "compiled code",
    "torch._C._distributed_c10d": "process group",
    "torch.distributed": "process group",
    "flor": "flor itself",
}
"""Modules whose objects are code, or the same in every process of a run."""

OPAQUE = {
    **{tracker.package: tracker.what for tracker in TRACKERS},
    "matplotlib": "figure",
    "_socket": "socket",
    "ssl": "socket",
    "_ssl": "socket",
    "select": "socket",
    "selectors": "socket",
    "fsspec": "file system",
    "h5py": "file",
    "lmdb": "file",
    "boto3": "connection",
    "botocore": "connection",
    "requests": "connection",
    "httpx": "connection",
    "sqlite3": "database connection",
    "torch.profiler": "profiler",
    "torch.autograd.profiler": "profiler",
    "cProfile": "profiler",
    "_lsprof": "profiler",
    "multiprocessing.queues": "channel between processes",
    "multiprocessing.connection": "channel between processes",
    "_multiprocessing": "channel between processes",
}
"""Modules whose objects have state that can't be captured."""

OUTPUT = {
    **dict.fromkeys((module for tracker in TRACKERS for module in tracker.values), "value of a tracker"),
    "logging": "logger",
    "tqdm": "progress bar",
    "rich": "terminal output",
    "lightning.pytorch.callbacks.progress": "progress bar",
    "pytorch_lightning.callbacks.progress": "progress bar",
}
"""Modules of output: objects of theirs hold times and rates."""

EXCEPTIONS = {
    "torch.jit._script.ScriptModule": "",
    "torch.distributed.optim": "",
    **dict.fromkeys((module for tracker in TRACKERS for module in (*tracker.values, *tracker.state)), ""),
}
"""Parts of those modules that are state like any other."""

MARKERS = {"typing.Generic", "typing.Protocol"}
"""Ancestors that say nothing of what an object is."""

SHARED = {"multiprocessing.sharedctypes", "multiprocessing.managers", "multiprocessing.shared_memory"}
"""State that other processes may change: refused."""

TYPES = {
    "_thread.lock": "lock",
    "_thread.RLock": "lock",
    "threading.Thread": "thread",
    "subprocess.Popen": "process",
    "multiprocessing.process.BaseProcess": "process",
    "_io.TextIOWrapper": "file",
    "_io.BufferedReader": "file",
    "_io.BufferedWriter": "file",
    "_io.BufferedRandom": "file",
    "_io.BufferedRWPair": "file",
    "_io.FileIO": "file",
    "_csv.writer": "csv writer",
    "_csv.Dialect": "csv dialect",
    "tempfile.TemporaryDirectory": "temporary folder",
    "concurrent.futures._base.Executor": "executor",
    "multiprocessing.pool.Pool": "executor",
    "_ctypes.CFuncPtr": "foreign code",
    "ctypes.CDLL": "foreign code",
    "_contextvars.Token": "context variable",
    "contextvars.Token": "context variable",
    "torch.utils.hooks.BackwardHook": "hook handle",
    "torch.cuda.streams.Stream": "device stream",
    "torch.cuda.streams.Event": "device stream",
    "torch.cuda.graphs.CUDAGraph": "device graph",
    "builtins.traceback": "code",
    "builtins.frame": "code",
    "builtins.code": "code",
    "builtins.property": "code",
    "builtins.staticmethod": "code",
    "builtins.classmethod": "code",
    "builtins.getset_descriptor": "code",
    "builtins.member_descriptor": "code",
    "builtins.method_descriptor": "code",
    "builtins.wrapper_descriptor": "code",
    "builtins.classmethod_descriptor": "code",
    "types.GenericAlias": "type hint",
    "types.UnionType": "type hint",
    "functools.cached_property": "code",
    "weakref.ProxyType": "weak proxy",
    "weakref.CallableProxyType": "weak proxy",
    "collections._tuplegetter": "code",
    "builtins.NotImplementedType": "constant",
    "torch.autograd.graph.Node": "autograd graph",
    "torch.ScriptFunction": "compiled code",
    "torch._C.ScriptFunction": "compiled code",
    "torch._ops.OpOverload": "code",
    "torch._ops.OpOverloadPacket": "code",
}

OPAQUE_TYPES = {
    "asyncio.events.AbstractEventLoop": "event loop",
    "torch._C._profiler._RecordFunctionFast": "profiler",
}

Project = Callable[[str], bool]


def inert_reason(cls: type, project: Project) -> str:
    """What kind of handle or code the class's objects are; empty if they are state."""
    return _first(cls, project, {**TYPES, **OPAQUE_TYPES}, INERT) or opaque_reason(cls, project)


def opaque_reason(cls: type, project: Project) -> str:
    """What the class's objects are, if they have state that can't be captured; empty otherwise."""
    return _first(cls, project, OPAQUE_TYPES, OPAQUE)


def output_reason(cls: type, project: Project) -> str:
    """What kind of output the class's objects make; empty if they make none."""
    return _first(cls, project, {}, OUTPUT)


def _first(cls: type, project: Project, types: dict[str, str], modules: dict[str, str]) -> str:
    for owner in cls.__mro__[:-1]:
        if project(owner.__module__):
            continue
        name = f"{owner.__module__}.{owner.__qualname__}"
        if name in EXCEPTIONS:
            return EXCEPTIONS[name]
        if name in MARKERS:
            continue
        found = types.get(name) or ("" if owner.__module__ in SHARED else _by_module(owner.__module__, modules))
        if found:
            return found
    return ""


def _by_module(module: object, modules: dict[str, str]) -> str:
    while isinstance(module, str) and module:
        if module in modules:
            return modules[module]
        if module in EXCEPTIONS:
            return EXCEPTIONS[module]
        module = module.rpartition(".")[0]
    return ""


_ALL = {**INERT, **OPAQUE, **OUTPUT}


def by_prefix(module: str) -> str:
    """What a module's objects are, if they are not state like any other."""
    return _by_module(module, _ALL)


def shared_reason(cls: type) -> str:
    """Why an object whose state other processes may change cannot be saved."""
    modules = {owner.__module__ for owner in cls.__mro__}
    return "other processes may change it" if modules & SHARED else ""
