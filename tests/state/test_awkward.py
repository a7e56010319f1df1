"""Awkward objects, each with its verdict: the table of docs/capture.md."""

from __future__ import annotations

import argparse
import array
import collections
import concurrent.futures
import contextvars
import csv
import ctypes
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import io
import itertools
import logging
import operator
import pathlib
import queue
import random
import re
import sqlite3
import threading
import types
import uuid
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from sklearn.utils import Bunch
from torch import nn
from torch.optim.swa_utils import AveragedModel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.tensorboard import SummaryWriter
from tqdm import tqdm

from flor.state import differences

DOCS = Path(__file__).parents[2] / "docs" / "capture.md"


class Point(NamedTuple):
    x: Any
    y: Any


class Colour(enum.Enum):
    RED = 1


class Permission(enum.Flag):
    READ = 1
    WRITE = 2


class Slotted:
    __slots__ = ("a", "unset")

    def __init__(self) -> None:
        self.a = [1]


@dataclasses.dataclass(frozen=True)
class Frozen:
    n: int


class AttrDict(dict):  # type: ignore[type-arg]
    def __init__(self, **values: Any) -> None:
        super().__init__(values)
        self.__dict__ = self


class Hostile:
    """Every question that is asked of it in python code is an error."""

    def __init__(self) -> None:
        object.__setattr__(self, "value", 1)

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(f"asked for {name}")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AssertionError(f"told {name}")

    __eq__ = __hash__ = __len__ = __iter__ = __bool__ = __reduce_ex__ = __repr__ = __getattribute__  # type: ignore


class Unpicklable:
    def __init__(self) -> None:
        self.values = [1, 2]

    def __reduce__(self) -> Any:
        raise TypeError("never")


def counter() -> Callable[[], int]:
    n = 0

    def count() -> int:
        nonlocal n
        n += 1
        return n

    return count


def generator() -> Any:
    yield 1


async def coroutine() -> None:
    return None


def closed_coroutine() -> Any:
    made = coroutine()
    made.close()
    return made


def cycle() -> list[Any]:
    one: list[Any] = []
    one.append(one)
    return one


def tuple_cycle() -> Any:
    inner: list[Any] = []
    pair = (inner, 1)
    inner.append(pair)
    return pair


def nonleaf() -> torch.Tensor:
    return torch.ones(2, requires_grad=True).exp()


def moved_iterator(iterator: Any) -> Any:
    next(iterator)
    return iterator


def momentum() -> torch.optim.Optimizer:
    weight = nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weight], lr=0.1, momentum=0.9)
    weight.grad = torch.ones(2)
    optimizer.step()
    return optimizer


AWKWARD: dict[str, tuple[Callable[[], Any], str]] = {
    "None, bool, int, float, str": (lambda: [None, True, 10**400, -0.0, float("nan"), "\udc80"], "kept"),
    "bytes, complex, range, slice, Ellipsis": (lambda: [b"\0", 1j, range(3), slice(1, None), ...], "kept"),
    "tuple that holds a list": (lambda: ([1], (2,)), "kept"),
    "named tuple": (lambda: Point([1], 2), "kept"),
    "frozenset": (lambda: frozenset({"b", "a", (1, 2), Frozen(3)}), "kept"),
    "enum member, flags": (lambda: [Colour.RED, Permission.READ | Permission.WRITE], "kept"),
    "path, date, Decimal, Fraction, UUID": (
        lambda: [
            pathlib.Path("a/b"),
            datetime.datetime(2024, 1, 2, tzinfo=datetime.UTC),
            decimal.Decimal("1.10"),
            fractions.Fraction(1, 3),
            uuid.UUID(int=5),
        ],
        "kept",
    ),
    "compiled regular expression": (lambda: re.compile("a+", re.I), "kept"),
    "list that holds itself": (cycle, "kept"),
    "tuple in a cycle": (tuple_cycle, "kept"),
    "OrderedDict after move_to_end": (lambda: _moved_to_end(), "kept"),
    "defaultdict, Counter": (lambda: [collections.defaultdict(list, a=[1]), collections.Counter("aab")], "kept"),
    "deque with maxlen": (lambda: collections.deque([1, 2, 3], maxlen=2), "kept"),
    "set of objects hashed by identity": (lambda: {Slotted(), Slotted()}, "kept"),
    "bytearray, array.array, BytesIO": (lambda: [bytearray(b"x"), array.array("d", [1.5]), io.BytesIO(b"ab")], "kept"),
    "object with __slots__, one unset": (Slotted, "kept"),
    "frozen dataclass": (lambda: Frozen(3), "kept"),
    "dict that is its own __dict__": (lambda: AttrDict(lr=0.1), "kept"),
    "object that forbids every question": (Hostile, "kept"),
    "object whose __reduce__ raises": (Unpicklable, "kept"),
    "argparse.Namespace, sklearn Bunch": (lambda: [argparse.Namespace(lr=0.1), Bunch(data=np.ones(2))], "kept"),
    "closure with nonlocal state": (counter, "kept"),
    "lambda with a mutable default": (lambda: lambda x, cache=[]: cache, "kept"),
    "functools.partial of a bound method": (lambda: functools.partial([1].append, 2), "kept"),
    "function of torch written in C": (lambda: [torch.mean], "kept"),
    "operator.itemgetter": (lambda: operator.itemgetter(1), "kept"),
    "iterator over a list, half-way": (lambda: moved_iterator(iter([1, 2, 3])), "kept"),
    "enumerate over zip over range": (lambda: moved_iterator(enumerate(zip(range(3), "abc", strict=True))), "kept"),
    "itertools: count, cycle, chain, islice": (
        lambda: [
            moved_iterator(itertools.count(5)),
            moved_iterator(itertools.cycle([1, 2])),
            itertools.chain([1], [2]),
            itertools.islice([1, 2, 3], 2),
        ],
        "kept",
    ),
    "random.Random": (lambda: random.Random(1), "kept"),
    "np.random.Generator, RandomState": (lambda: [np.random.default_rng(1), np.random.RandomState(1)], "kept"),
    "torch.Generator": (lambda: torch.Generator().manual_seed(3), "kept"),
    "numpy views of one base": (lambda: (lambda a: [a, a[1:], a[::-1]])(np.arange(4.0)), "kept"),
    "numpy array of objects": (lambda: np.array([[1], None], dtype=object), "kept"),
    "numpy structured and read-only arrays": (lambda: [_structured(), _read_only()], "kept"),
    "numpy scalar, dtype": (lambda: [np.float32(1.5), np.int64(3), np.dtype("<f4")], "kept"),
    "numpy record array": (lambda: np.array([(1,)], dtype=[("a", "<i4")]).view(np.recarray), "kept"),
    "tensor and numpy array of one memory": (lambda: (lambda t: [t, t.numpy()])(torch.zeros(3)), "kept"),
    "non-contiguous and overlapping tensors": (
        lambda: [torch.arange(6.0).reshape(2, 3).t(), torch.ones(1).expand(4)],
        "kept",
    ),
    "bool, bf16, fp8, complex, empty tensors": (
        lambda: [
            torch.tensor([True]),
            torch.ones(2, dtype=torch.bfloat16),
            torch.ones(2).to(torch.float8_e4m3fn),
            torch.ones(2, dtype=torch.complex64),
            torch.empty(0, 3),
        ],
        "kept",
    ),
    "meta tensor": (lambda: torch.empty(2, 3, device="meta"), "kept"),
    "sparse COO and CSR tensors": (lambda: [torch.eye(3).to_sparse(), _csr()], "kept"),
    "tensor made in inference mode": (lambda: _inference(), "kept"),
    "non-leaf tensor (loss after backward)": (nonleaf, "kept"),
    "torch.dtype, device, Size": (lambda: [torch.float32, torch.device("cpu"), torch.Size([1, 2])], "kept"),
    "optimizer with momentum": (momentum, "kept"),
    "AveragedModel, GradScaler": (
        lambda: [AveragedModel(nn.Linear(1, 1)), torch.amp.GradScaler("cpu", enabled=False)],
        "kept",
    ),
    "DataLoader, shuffled": (lambda: DataLoader(TensorDataset(torch.ones(4)), shuffle=True), "kept"),
    "weak reference": (lambda: (lambda o: [o, weakref.ref(o)])(Unpicklable()), "kept"),
    "open file, csv writer": (lambda: (lambda f: [f, csv.writer(f)])(io.TextIOWrapper(io.BytesIO())), "inert"),
    "queue.Queue, SimpleQueue that is empty": (lambda: [_fill(queue.Queue()), queue.SimpleQueue()], "kept"),
    "lock": (threading.Lock, "inert"),
    "thread that has not begun, event, semaphore": (
        lambda: [threading.Thread(), threading.Event(), threading.Semaphore(2)],
        "kept",
    ),
    "logger and its handler": (lambda: [logging.getLogger("x"), logging.StreamHandler()], "kept"),
    "tqdm bar": (lambda: tqdm(disable=True), "kept"),
    "SummaryWriter": (lambda: SummaryWriter.__new__(SummaryWriter), "inert"),
    "argparse.ArgumentParser": (argparse.ArgumentParser, "kept"),
    "sqlite connection": (lambda: _closed(sqlite3.connect(":memory:")), "inert"),
    "future": (concurrent.futures.Future, "kept"),
    "context variable": (lambda: contextvars.ContextVar("x"), "inert"),
    "ctypes memory": (lambda: ctypes.c_int(3), "kept"),
    "hook handle": (lambda: nn.Linear(1, 1).register_forward_hook(lambda *_: None), "kept"),
    "module, class, function of a library": (lambda: [math_module(), dict, json_dumps()], "kept"),
    "generator": (generator, "refused"),
    "SimpleQueue with something in it": (lambda: _fill(queue.SimpleQueue()), "refused"),
    "coroutine": (closed_coroutine, "refused"),
    "map over a generator": (lambda: map(str, generator()), "refused"),
    "memoryview": (lambda: memoryview(b"ab"), "kept"),
    "mappingproxy": (lambda: types.MappingProxyType({"a": 1}), "kept"),
    "quantized tensor": (lambda: torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8), "refused"),
    "lazily conjugated tensor": (lambda: torch.ones(2, dtype=torch.complex64).conj(), "refused"),
    "DataLoader iterator that flor did not watch": (lambda: _unwatched(), "refused"),
}


def _fill(made: Any) -> Any:
    made.put(1)
    return made


def _moved_to_end() -> Any:
    ordered = collections.OrderedDict(a=1, b=2)
    ordered.move_to_end("a")
    return ordered


def _structured() -> Any:
    return np.array([(1, 2.0)], dtype=[("a", "<i4"), ("b", "<f8")])


def _read_only() -> Any:
    made = np.ones(2)
    made.flags.writeable = False
    return made


def _csr() -> Any:
    return torch.sparse_csr_tensor([0, 1], [0], [1.0], size=(1, 2))


def _inference() -> Any:
    with torch.inference_mode():
        return torch.ones(2)


def _closed(connection: Any) -> Any:
    connection.close()
    return connection


def _unwatched() -> Any:
    from torch.utils.data.dataloader import _SingleProcessDataLoaderIter

    return _SingleProcessDataLoaderIter(DataLoader(TensorDataset(torch.ones(4))))


def math_module() -> Any:
    import math

    return math


def json_dumps() -> Any:
    import json

    return json.dumps


def verdict(trip: Any, made: Any) -> str:
    snapshot = trip.take({"s": {"x": made}})
    if snapshot.refusals:
        return "refused"
    root = snapshot.roots["s"]["x"]
    nodes = [snapshot.nodes[root]] + [snapshot.nodes[ref] for ref in snapshot.nodes[root].refs()]
    return "inert" if any(node.kind == "inert" for node in nodes) else "kept"


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support", "ignore:.*quantize", "ignore:Sparse invariant")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", AWKWARD)
def test_an_awkward_object_gets_its_verdict(name: str, trip: Any) -> None:
    make, expected = AWKWARD[name]
    assert verdict(trip, make()) == expected


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support", "ignore:Sparse invariant")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", [name for name, (_, expected) in AWKWARD.items() if expected == "kept"])
def test_a_kept_awkward_object_is_the_same_after_a_trip(name: str, trip: Any) -> None:
    scopes = {"s": {"x": AWKWARD[name][0](), "alias": None}}
    scopes["s"]["alias"] = [scopes["s"]["x"]]
    before = trip.through_bytes(trip.take(scopes))
    values = trip.put(before, scopes).values
    assert differences(before, trip.take(values)) == []
    assert values["s"]["alias"][0] is values["s"]["x"] or isinstance(values["s"]["x"], tuple)


NEEDS_A_LIVE_ONE = {"closure with nonlocal state", "lambda with a mutable default"}


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support", "ignore:Sparse invariant")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    "name", [name for name, (_, expected) in AWKWARD.items() if expected == "kept" and name not in NEEDS_A_LIVE_ONE]
)
def test_a_kept_awkward_object_is_made_anew_where_there_is_none(name: str, trip: Any) -> None:
    before = trip.through_bytes(trip.take({"s": {"x": AWKWARD[name][0]()}}))
    values = trip.put(before, {"s": {}}).values
    assert differences(before, trip.take(values)) == []


def table() -> str:
    rows = [f"| {name} | {expected} |" for name, (_, expected) in AWKWARD.items()]
    return "\n".join(["| object | verdict |", "|---|---|", *rows])


def test_the_table_in_the_docs_is_this_one() -> None:
    assert table() in DOCS.read_text()
