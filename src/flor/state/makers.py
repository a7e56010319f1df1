"""Which callables a restore may call to make an object, and which code it may hand out by name.

A store is data: what it names is looked up among what this process has imported, and called only if it is on a list
here or belongs to a class whose construction is known to have no other effect.
"""

from __future__ import annotations

import copyreg
import sys
import types
from collections.abc import Callable, Sequence
from functools import partial
from operator import methodcaller
from typing import Any

from flor.model.trackers import TRACKERS
from flor.state.made import native_ancestor
from flor.state.names import name_of

Project = Callable[[str], bool]

DENIED = frozenset(
    [
        "os",
        "nt",
        "posix",
        "subprocess",
        "_posixsubprocess",
        "pty",
        "shutil",
        "tempfile",
        "ctypes",
        "_ctypes",
        "cffi",
        "_cffi_backend",
        "importlib",
        "imp",
        "_imp",
        "_frozen_importlib",
        "_frozen_importlib_external",
        "runpy",
        "pkgutil",
        "zipimport",
        "code",
        "codeop",
        "pickle",
        "_pickle",
        "pickletools",
        "marshal",
        "shelve",
        "dbm",
        "_dbm",
        "_gdbm",
        "dill",
        "cloudpickle",
        "joblib",
        "socket",
        "_socket",
        "socketserver",
        "ssl",
        "_ssl",
        "asyncio",
        "_asyncio",
        "multiprocessing",
        "_multiprocessing",
        "_posixshmem",
        "concurrent",
        "webbrowser",
        "antigravity",
        "pdb",
        "bdb",
        "cmd",
        "timeit",
        "trace",
        "profile",
        "cProfile",
        "_lsprof",
        "signal",
        "_signal",
        "gc",
        "atexit",
        "site",
        "venv",
        "ensurepip",
        "pip",
        "setuptools",
        "distutils",
        "pkg_resources",
        "pydoc",
        "doctest",
        "unittest",
        "test",
        "http",
        "urllib",
        "ftplib",
        "smtplib",
        "poplib",
        "imaplib",
        "nntplib",
        "telnetlib",
        "xmlrpc",
        "wsgiref",
        "requests",
        "httpx",
        "io",
        "_io",
        "mmap",
        "fcntl",
        "resource",
        "sqlite3",
        "_sqlite3",
        "logging",
        "select",
        "selectors",
        "tkinter",
        "_tkinter",
        "turtle",
        "idlelib",
        "lib2to3",
        "curses",
        "_curses",
        "readline",
        "syslog",
        "termios",
        "tty",
        "faulthandler",
        "tracemalloc",
        "fileinput",
        "glob",
        "linecache",
        "zipfile",
        "tarfile",
        "gzip",
        "bz2",
        "lzma",
        "zipapp",
        "compileall",
        "py_compile",
        "_xxsubinterpreters",
        "sched",
        "builtins.open",
        "torch.hub",
        "torch.serialization",
        "torch.storage",
        "torch.jit",
        "torch.package",
        "torch.multiprocessing",
        "torch.distributed",
        "torch.utils.cpp_extension",
        "torch.utils.model_zoo",
        "torch.utils.collect_env",
        "torch.utils.file_baton",
        "torch.onnx",
        "torch._C",
        "torch._inductor",
        "torch._dynamo",
        "numpy.ctypeslib",
        "numpy.f2py",
        "numpy.testing",
        "numpy.lib.npyio",
        "numpy.lib._npyio_impl",
        "numpy.lib._datasource",
        "numpy.distutils",
        "pandas.io",
        "pandas.core.computation",
        "flor",
        "pyarrow",
        "h5py",
        "lmdb",
        "IPython",
        "fsspec",
        *(tracker.package for tracker in TRACKERS),
    ]
)
"""Modules, with all below them, whose functions and classes a store can't have by name: they reach outside."""

_DATA = frozenset(module for tracker in TRACKERS for module in tracker.values)
"""Modules below those whose classes only hold data; an object of one is made past its `__init__`."""

EXEMPT = frozenset({"_io:BytesIO", "_io:StringIO", "threading:local", "_thread:_local"})
_OPERATORS = frozenset(f"torch._C.{name}" for name in ("_nn", "_special", "_linalg", "_fft", "_VariableFunctions"))

DENIED_NAMES = frozenset(
    [
        "builtins:eval",
        "sys:exit",
        "sys:settrace",
        "sys:setprofile",
        "sys:addaudithook",
        "builtins:exec",
        "builtins:compile",
        "builtins:__import__",
        "builtins:open",
        "builtins:input",
        "builtins:breakpoint",
        "builtins:getattr",
        "builtins:setattr",
        "builtins:delattr",
        "builtins:globals",
        "builtins:locals",
        "builtins:vars",
        "builtins:exit",
        "builtins:quit",
        "builtins:help",
        "builtins:__build_class__",
        "builtins:copyright",
        "builtins:credits",
        "builtins:license",
        "_operator:call",
        "operator:call",
        "types:FunctionType",
        "types:CodeType",
        "types:new_class",
        "numpy:load",
        "numpy:save",
        "numpy:savez",
        "numpy:savetxt",
        "numpy:loadtxt",
        "numpy:genfromtxt",
        "numpy:fromfile",
        "numpy:memmap",
        "numpy:DataSource",
        "torch:load",
        "torch:save",
        "torch:compile",
        "torch:from_file",
        "numpy.lib._utils_impl:safe_eval",
    ]
)

SAFE_PACKAGES = frozenset({"numpy", "pandas", "PIL", "scipy", "sklearn", "tokenizers", "regex"})
"""Libraries whose own classes are made as they ask for: their constructors and `__setstate__` only take data."""

FUNCTIONS = frozenset(
    [
        "re:_compile",
        "_codecs:encode",
        "builtins:iter",
        "builtins:reversed",
        "numpy._core._multiarray_umath:_reconstruct",
        "numpy._core._multiarray_umath:scalar",
        "numpy._core.multiarray:_reconstruct",
        "numpy.core.multiarray:_reconstruct",
        "numpy._core.multiarray:scalar",
        "numpy.core.multiarray:scalar",
        "numpy.ma.core:_mareconstruct",
        "numpy.ma:_mareconstruct",
        "numpy.ma.mrecords:_mrreconstruct",
        "numpy._core.numeric:_frombuffer",
    ]
)
"""Functions that objects name for their own making, and that do nothing else."""

_TORCH = frozenset({"torch:Size", "torch:device", "torch:finfo", "torch:iinfo"})
_UNPICKLERS = (
    "__pyx_unpickle_",
    "_unpickle",
    "_timedelta_unpickle",
    "_nat_unpickle",
    "_new_",
    "newObj",
    "_reconstruct",
)
_PLAIN = (list, tuple, dict, set, frozenset, str, bytes, bytearray, range)


NOT_CALLED = "is not called on behalf of a store"
_ITERATING = frozenset({"builtins:iter", "builtins:reversed"})


def denied(name: str, found: Any, project: Project) -> bool:
    """True for code that a store can't have by name, under its own name or under another one."""
    own = code_name(found)
    if own in EXEMPT or project(own.partition(":")[0]):
        return False
    return any(each in DENIED_NAMES or _below(each.partition(":")[0], DENIED) for each in (name, own))


def code_name(found: Any) -> str:
    """Where code says that it is from; nothing of it runs."""
    if isinstance(found, types.ModuleType):
        return f"{types.ModuleType.__getattribute__(found, '__name__')}:"
    owner = getattr(found, "__self__", None) if isinstance(found, types.BuiltinFunctionType) else None
    if isinstance(owner, types.ModuleType):
        return f"{owner.__name__}:{found.__name__}"
    return name_of(found)


def _below(module: str, packages: frozenset[str]) -> bool:
    while module and module not in _OPERATORS and module not in _DATA:
        if module in packages:
            return True
        module = module.rpartition(".")[0]
    return False


def is_safe_class(cls: type, project: Project) -> bool:
    """True if the class's own `__new__`, `__init__` and `__setstate__` may be called with data from a store."""
    if cls.__module__ is None or denied(name_of(cls), cls, project):
        return False
    if project(cls.__module__):
        return True
    top = cls.__module__.partition(".")[0]
    if top in SAFE_PACKAGES or top in sys.stdlib_module_names:
        return True
    return name_of(cls) in _TORCH or (top == "torch" and issubclass(cls, tuple))


def finalizer(cls: type, project: Project) -> bool:
    """True if a library's class does something when its object goes: what that is, a store must not decide."""
    found = (owner for owner in cls.__mro__ if isinstance(owner.__dict__.get("__del__"), types.FunctionType))
    return any(not project(owner.__module__) for owner in found)


def maker_reason(maker: Any, args: Sequence[Any], cls: type | None, project: Project) -> str:
    """Why a saved object's maker is not called; empty if it may be. Classes of iterators have no name: None."""
    if cls is None:
        return "" if code_name(maker) in _ITERATING and not _iter_reason(args) else _not_called(maker)
    if maker is copyreg.__newobj__ or maker is copyreg.__newobj_ex__:  # type: ignore[attr-defined]
        return _new_reason(args, cls, project)
    if isinstance(maker, type):
        return _class_reason(maker, args, cls, project)
    if type(maker) is partial:
        return "" if maker.func is methodcaller and cls is methodcaller else _not_called(maker)
    return _function_reason(maker, args, cls, project)


def _new_reason(args: Sequence[Any], cls: type, project: Project) -> str:
    if not args or args[0] is not cls:
        return f"it would make something else than a {cls.__name__}"
    if is_safe_class(cls, project):
        return ""
    owner = next(each for each in cls.__mro__ if "__new__" in each.__dict__)
    by_data = len(args) > 1 or isinstance(owner.__dict__["__new__"], staticmethod | types.FunctionType)
    return f"{name_of(cls)}, of which flor knows nothing, would be made of stored data" if by_data else ""


def _class_reason(maker: type, args: Sequence[Any], cls: type, project: Project) -> str:
    if maker is reversed:
        return _iter_reason(args)
    if maker is not cls:
        return _not_called(maker)
    if is_safe_class(cls, project) or issubclass(cls, BaseException):
        return ""
    return f"{name_of(cls)}, of which flor knows nothing, would be made of stored data"


def _function_reason(maker: Any, args: Sequence[Any], cls: type, project: Project) -> str:
    if isinstance(maker, types.BuiltinFunctionType | types.MethodType) and maker.__self__ is cls:
        own = is_safe_class(cls, project) and maker.__name__ == "_unpickle"  # that of zoneinfo
        return "" if own else _not_called(maker)
    name = code_name(maker)
    if not callable(maker) or denied(name, maker, project):
        return _not_called(maker)
    if name in _ITERATING:
        return _iter_reason(args)
    if name.endswith(":_reconstruct") and (len(args) != 3 or args[0] is not cls or args[1] != (0,)):
        return "an array is made empty and then filled"
    if name.endswith(":scalar") and any(getattr(arg, "hasobject", False) for arg in args):
        return "an element that holds pointers is not made of stored bytes"
    if name in FUNCTIONS:
        return ""
    module, _, function = name.partition(":")
    same_library = module.partition(".")[0] == cls.__module__.partition(".")[0]
    if same_library and _below(module, SAFE_PACKAGES) and function.startswith(_UNPICKLERS):
        return ""
    return _not_called(maker)


def _iter_reason(args: Sequence[Any]) -> str:
    """`iter` of a plain container, or of an object that is only indexed; nobody's `__iter__` is called."""
    if len(args) == 2 and callable(args[0]):
        return ""  # called when the script asks for the next one, not here
    if len(args) == 1 and (native_ancestor(type(args[0])) in _PLAIN or _is_iterator_of_c(args[0])):
        return ""
    if len(args) == 1 and not hasattr(type(args[0]), "__iter__"):
        return ""
    return "the iterator of such an object is not made from a store"


def _is_iterator_of_c(arg: Any) -> bool:
    top = str(type(arg).__module__).partition(".")[0]
    return top in ("builtins", "itertools", "collections", "_collections", "array", "numpy") and not isinstance(
        arg, type
    )


def _not_called(maker: Any) -> str:
    return f"{code_name(maker).replace(':', '.')} {NOT_CALLED}"


def state_reason(cls: type, project: Project) -> str:
    """Why an object's `__setstate__`, `extend` or `__setitem__` is not called; empty if it may be."""
    return "" if is_safe_class(cls, project) else f"{name_of(cls)}, of which flor knows nothing, would be given a state"


def sets_state(cls: type) -> bool:
    """True if the class has a `__setstate__` of its own."""
    return any("__setstate__" in owner.__dict__ for owner in cls.__mro__)


def make(maker: Any, args: Sequence[Any]) -> Any:
    """Call a maker; an exception is made past the `__init__` that a library may have given it."""
    if isinstance(maker, type) and issubclass(maker, BaseException):
        native: Any = native_ancestor(maker)
        made = native.__new__(maker, *args)
        native.__init__(made, *args)
        return made
    return maker(*args)
