"""What flor leaves as it is: handles to the outside world, and code."""

from __future__ import annotations

from collections.abc import Callable

PREFIXES = {
    "logging": "logger",
    "tqdm": "progress bar",
    "rich": "terminal output",
    "lightning.pytorch.callbacks.progress": "progress bar",
    "pytorch_lightning.callbacks.progress": "progress bar",
    "wandb": "experiment tracker",
    "mlflow": "experiment tracker",
    "comet_ml": "experiment tracker",
    "neptune": "experiment tracker",
    "clearml": "experiment tracker",
    "aim": "experiment tracker",
    "tensorboard": "summary writer",
    "tensorboardX": "summary writer",
    "torch.utils.tensorboard": "summary writer",
    "matplotlib": "figure",
    "threading": "thread or lock",
    "_thread": "thread or lock",
    "multiprocessing": "process or channel",
    "torch.multiprocessing": "process or channel",
    "concurrent.futures": "future or executor",
    "asyncio": "event loop",
    "subprocess": "process",
    "socket": "socket",
    "_socket": "socket",
    "ssl": "socket",
    "_ssl": "socket",
    "select": "socket",
    "fsspec": "file system",
    "h5py": "file",
    "lmdb": "file",
    "numba": "compiled code",
    "triton": "compiled code",
    "torch.jit": "compiled code",
    "boto3": "connection",
    "botocore": "connection",
    "sqlite3": "database connection",
    "_csv": "csv writer",
    "csv": "csv writer",
    "_io": "file",
    "io": "file",
    "tempfile": "file",
    "zipfile": "file",
    "tarfile": "file",
    "gzip": "file",
    "mmap": "file mapping",
    "ctypes": "foreign memory",
    "_ctypes": "foreign memory",
    "contextvars": "context variable",
    "_contextvars": "context variable",
    "http": "connection",
    "urllib": "connection",
    "requests": "connection",
    "importlib": "import machinery",
    "_frozen_importlib": "import machinery",
    "_frozen_importlib_external": "import machinery",
    "unittest.mock": "test double",
    "typing": "type hint",
    "torch._dynamo": "compiled code",
    "torch._inductor": "compiled code",
    "torch._C._distributed_c10d": "process group",
    "torch.distributed": "process group",
    "torch.profiler": "profiler",
    "torch.autograd.profiler": "profiler",
    "cProfile": "profiler",
    "flor": "flor itself",
}
"""Module prefixes whose objects are inert."""

NOT_INERT = {
    "torch.jit._script.ScriptModule",
    "io.BytesIO",
    "io.StringIO",
    "_io.BytesIO",
    "_io.StringIO",
    "torch.distributed.optim",
}

MARKERS = {"typing.Generic", "typing.Protocol"}
"""Ancestors that say nothing of what an object is."""

SHARED = {"multiprocessing.sharedctypes", "multiprocessing.managers", "multiprocessing.shared_memory"}
"""State that other processes may change: refused."""

TYPES = {
    "argparse.ArgumentParser": "argument parser",
    "argparse._ArgumentGroup": "argument parser",
    "torch.utils.hooks.RemovableHandle": "hook handle",
    "torch.utils.hooks.BackwardHook": "hook handle",
    "torch.cuda.streams.Stream": "device stream",
    "torch.cuda.streams.Event": "device stream",
    "torch.cuda.graphs.CUDAGraph": "device graph",
    "random.SystemRandom": "entropy of the system",
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


def inert_reason(cls: type, project: Callable[[str], bool]) -> str:
    """What kind of handle the class's objects are; empty if they are state."""
    foreign = [owner for owner in cls.__mro__[:-1] if not project(owner.__module__)]
    names = [(owner.__module__, f"{owner.__module__}.{owner.__qualname__}") for owner in foreign]
    names = [(module, name) for module, name in names if name not in MARKERS]
    if any(name in NOT_INERT for _, name in names):
        return ""
    found = (TYPES.get(name) or ("" if module in SHARED else by_prefix(module)) for module, name in names)
    return next((reason for reason in found if reason), "")


def by_prefix(module: object) -> str:
    """What kind of handle a module's objects are; empty if they are state."""
    while isinstance(module, str) and module:
        if module in NOT_INERT:
            return ""
        if module in PREFIXES:
            return PREFIXES[module]
        module = module.rpartition(".")[0]
    return ""


def shared_reason(cls: type) -> str:
    """Why an object whose state other processes may change cannot be saved."""
    modules = {owner.__module__ for owner in cls.__mro__}
    return "other processes may change it" if modules & SHARED else ""
