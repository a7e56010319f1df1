"""Which handler an object of a given class has."""

from __future__ import annotations

import ctypes
import enum
import functools
import io
import logging
import mmap
import sys
import threading
import types
import weakref
from array import array
from collections import OrderedDict, deque
from collections.abc import Callable
from contextvars import ContextVar
from queue import SimpleQueue
from random import Random, SystemRandom
from threading import local
from typing import Any

from flor.state import loaded, outside
from flor.state.handler import Handler
from flor.state.handlers.ambient import ContextVariableHandler, ThreadLocalHandler
from flor.state.handlers.arrays import ArrayHandler, ObjectArrayHandler
from flor.state.handlers.buffers import BufferHandler, BytesHandler, TextHandler
from flor.state.handlers.caches import CacheHandler
from flor.state.handlers.classes import ClassHandler, EnumHandler, ModuleHandler
from flor.state.handlers.conditions import ConditionHandler, FutureHandler, SemaphoreHandler
from flor.state.handlers.dtypes import DtypeHandler
from flor.state.handlers.files import (
    MemoryFileHandler,
    PrivateFileHandler,
    TemporaryHandler,
    WrappedFileHandler,
    kind_of_file,
)
from flor.state.handlers.foreign import ForeignHandler, MappingHandler, MessageHandler
from flor.state.handlers.functions import BuiltinHandler, CellHandler, FunctionHandler, MethodHandler
from flor.state.handlers.generators import GeneratorHandler, SharedHandler, SimpleQueueHandler
from flor.state.handlers.handles import WITNESSES, InertHandler, RefusedHandler, WitnessHandler
from flor.state.handlers.loader_iterators import LoaderIteratorHandler
from flor.state.handlers.mappings import DictHandler
from flor.state.handlers.memmaps import MemmapHandler
from flor.state.handlers.memory import MemoryHandler
from flor.state.handlers.nans import NanHandler
from flor.state.handlers.objects import ObjectHandler
from flor.state.handlers.outputs import LoggerHandler, OutputHandler
from flor.state.handlers.reduced import ReducedHandler
from flor.state.handlers.sequences import DequeHandler, ListHandler
from flor.state.handlers.sets import FrozenSetHandler, SetHandler
from flor.state.handlers.settings import SettingsHandler, SurroundingsHandler
from flor.state.handlers.sparse import SparseHandler
from flor.state.handlers.streams import (
    NumpyGeneratorHandler,
    NumpyRandomHandler,
    PythonRandomHandler,
    SeedSequenceHandler,
    TorchGeneratorHandler,
)
from flor.state.handlers.tensors import TensorHandler
from flor.state.handlers.tuples import TupleHandler
from flor.state.handlers.views import ViewHandler
from flor.state.handlers.weak import WeakHandler
from flor.state.inert import inert_reason, output_reason, shared_reason
from flor.state.made import native_ancestor
from flor.state.names import name_of
from flor.state.settings import Settings, Surroundings
from flor.state.standins import STAND_IN, is_stand_in

HANDLERS: dict[str, Handler] = {
    handler.kind: handler
    for handler in (
        ArrayHandler(),
        BufferHandler(),
        BuiltinHandler(),
        BytesHandler(),
        CacheHandler(),
        CellHandler(),
        ClassHandler(),
        ConditionHandler(),
        ContextVariableHandler(),
        DequeHandler(),
        DictHandler(),
        DtypeHandler(),
        EnumHandler(),
        ForeignHandler(),
        FrozenSetHandler(),
        FunctionHandler(),
        FutureHandler(),
        GeneratorHandler(),
        InertHandler(),
        ListHandler(),
        LoaderIteratorHandler(),
        LoggerHandler(),
        MappingHandler(),
        MemmapHandler(),
        MemoryFileHandler(),
        MemoryHandler(),
        MessageHandler(),
        MethodHandler(),
        ModuleHandler(),
        NanHandler(),
        NumpyGeneratorHandler(),
        NumpyRandomHandler(),
        ObjectArrayHandler(),
        ObjectHandler(),
        OutputHandler(),
        PrivateFileHandler(),
        PythonRandomHandler(),
        ReducedHandler(),
        RefusedHandler(),
        SeedSequenceHandler(),
        SemaphoreHandler(),
        SetHandler(),
        SettingsHandler(),
        SharedHandler(),
        SimpleQueueHandler(),
        SparseHandler(),
        SurroundingsHandler(),
        TemporaryHandler(),
        TensorHandler(),
        ThreadLocalHandler(),
        TextHandler(),
        TorchGeneratorHandler(),
        TupleHandler(),
        ViewHandler(),
        WeakHandler(),
        WitnessHandler(),
        WrappedFileHandler(),
    )
}

_EXACT: dict[type, str] = {
    float: "nan",
    str: "text",
    bytes: "bytes",
    tuple: "tuple",
    list: "list",
    dict: "dict",
    set: "set",
    frozenset: "frozenset",
    types.FunctionType: "function",
    types.MethodType: "method",
    types.BuiltinFunctionType: "builtin",
    types.MethodWrapperType: "builtin",
    types.CellType: "cell",
    types.GeneratorType: "generator",
    types.CoroutineType: "generator",
    types.AsyncGeneratorType: "generator",
    weakref.ref: "weakref",
    Settings: "settings",
    Surroundings: "surroundings",
    ContextVar: "context-variable",
    SimpleQueue: "simple-queue",
    memoryview: "view",
    types.MappingProxyType: "view",
    **{type(getattr(made(), name)()): "view" for made in (dict, OrderedDict) for name in ("keys", "values", "items")},
    type(functools.lru_cache(lambda: None)): "cache",
}

_ANCESTORS: tuple[tuple[type, str], ...] = (
    (threading.Condition, "condition"),
    (logging.Logger, "logger"),
    (io.BytesIO, "memory-file"),
    (io.StringIO, "memory-file"),
    (ctypes._SimpleCData, "foreign"),
    (ctypes.Array, "foreign"),
    (ctypes.Structure, "foreign"),
    (ctypes.Union, "foreign"),
    (ctypes._Pointer, "foreign"),
    (mmap.mmap, "mapping"),
)

_NAMED = {
    "_multiprocessing:SemLock": "semaphore",
    "concurrent.futures._base:Future": "future",
    "tempfile:_TemporaryFileWrapper": "temporary",
    "unittest.mock:_SentinelObject": "reduced",
    "google.protobuf.message:Message": "message",
}
"""Classes of modules that the script may not have imported, by name."""

_NATIVE: dict[type, str] = {
    list: "list",
    dict: "dict",
    set: "set",
    frozenset: "frozenset",
    tuple: "tuple",
    deque: "deque",
    array: "buffer",
    bytearray: "buffer",
    object: "object",
    types.SimpleNamespace: "object",
    **{kind.__base__: "object" for kind in (io.FileIO, io.BufferedReader, io.TextIOWrapper) if kind.__base__},
    io.IOBase.__base__ or object: "object",
}
"""What a class is at bottom: the nearest ancestor of C code."""

_BY_PIECES = (
    *("PIL.", "datetime.", "fractions.", "decimal.", "pathlib.", "uuid.", "zoneinfo.", "ipaddress."),
    "inspect.",
)
"""Python-made classes that are better taken apart by their own rules than walked."""


def choose(cls: type, project: Callable[[str], bool]) -> str:
    """The kind of a class's objects."""
    if cls in _EXACT:
        return _EXACT[cls]
    for rule in (_code, _library, _known):
        kind = rule(cls)
        if kind:
            return kind
    if inert_reason(cls, project):
        return "inert"
    if shared_reason(cls):
        return "shared"
    layout = _by_layout(cls)
    return "output" if layout == "object" and output_reason(cls, project) else layout


def _known(cls: type) -> str:
    found = next((kind for known, kind in _ANCESTORS if issubclass(cls, known)), "")
    if found:
        return found
    if name_of(cls) in WITNESSES:
        return "witness"
    return next((_NAMED[name] for owner in cls.__mro__ if (name := name_of(owner)) in _NAMED), "")


def _code(cls: type) -> str:
    if issubclass(cls, type):
        return "class"
    if issubclass(cls, types.ModuleType):
        return "module"
    if issubclass(cls, local):
        return "thread-local"
    if isinstance(cls, enum.EnumMeta):
        return "enum"
    if issubclass(cls, Random):
        return "object" if issubclass(cls, SystemRandom) else "random"
    return ""


def _library(cls: type) -> str:
    torch, numpy = loaded.torch(), loaded.numpy()
    rules: list[tuple[Any, str]] = []
    if torch is not None:
        rules += [(torch.Tensor, "tensor"), (torch.Generator, "torch-generator")]
        rules += [(loaded.attribute("torch.utils.data.dataloader", "_BaseDataLoaderIter"), "loader-iterator")]
    if numpy is not None:
        rules += [(numpy.memmap, "memmap"), (numpy.dtype, "dtype"), (numpy.random.Generator, "numpy-generator")]
        rules += [(numpy.random.RandomState, "numpy-random"), (numpy.random.BitGenerator, "numpy-random")]
        rules += [(numpy.random.SeedSequence, "seed-sequence")]
        rules += [(numpy.ndarray, "array" if cls is numpy.ndarray else "reduced")]
    return next((kind for known, kind in rules if known is not None and issubclass(cls, known)), "")


def _by_layout(cls: type) -> str:
    native = native_ancestor(cls)
    if native.__module__ == "collections" and native.__name__ in ("OrderedDict", "defaultdict"):
        return "dict"
    if native is object and f"{cls.__module__}.".startswith(_BY_PIECES):
        return "reduced"
    return _NATIVE.get(native, "reduced")


UNSETTLED = frozenset(("tensor", "array", "inert", "dict"))
"""Kinds that an object's class does not settle."""


def refine(kind: str, obj: Any, parent: Any = None) -> str:
    """The kind of one object whose class does not settle it; `parent` led to it."""
    if kind == "tensor" and obj.layout is not sys.modules["torch"].strided:
        return "sparse"
    if kind == "array" and obj.dtype.kind == "O":
        return "object-array"
    if kind == "inert":
        return _refine_inert(obj, parent)
    if kind == "dict" and type(obj) is dict and "__builtins__" in obj and "__name__" in obj:
        return "inert"
    return kind


def _refine_inert(obj: Any, parent: Any) -> str:
    if is_stand_in(obj):
        return STAND_IN
    if isinstance(obj, io.IOBase):
        return kind_of_file(obj, parent) or "inert"
    return "output" if outside.has_ended(obj) else "inert"  # not compared: it has its number in the system
