"""Puts the stand-ins in place: for functions of modules that are imported, now or later."""

from __future__ import annotations

import builtins
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

from flor.launch.inputs import kinds
from flor.launch.inputs.names import TemporaryNames
from flor.launch.inputs.past import FileTime, PastClock
from flor.launch.inputs.stamps import LogStamps
from flor.runtime import current
from flor.runtime.imports import ImportWatch
from flor.runtime.readings import Inputs, Reading, finders, known
from flor.source.words import words

CLOCKS = words(
    """time time_ns perf_counter perf_counter_ns monotonic monotonic_ns process_time process_time_ns thread_time
    thread_time_ns"""
)
MODULES: dict[str, dict[str, Any]] = {
    "time": {
        **dict.fromkeys(CLOCKS, kinds.Clock),
        **dict.fromkeys(("ctime", "asctime"), kinds.Converter),
        **dict.fromkeys(("localtime", "gmtime"), kinds.TimeTuple),
        **dict.fromkeys(("clock_gettime", "clock_gettime_ns"), Reading),
        "strftime": partial(kinds.Converter, given=1),
    },
    "os": {
        **dict.fromkeys(("urandom", "getrandom", "getpid", "getppid", "getlogin"), Reading),
        **dict.fromkeys(("uname", "times", "getloadavg"), kinds.Measured),
    },
    "uuid": {"uuid1": kinds.Identifier, "uuid4": kinds.Identifier, "getnode": Reading},
    "secrets": {
        **dict.fromkeys(("token_hex", "token_bytes", "token_urlsafe", "randbelow", "randbits"), Reading),
        "choice": kinds.Chosen,
        "SystemRandom": kinds.SystemRandomMaker,
    },
    "random": {"seed": kinds.Seeding, "Random": kinds.Seeding, "SystemRandom": kinds.SystemRandomMaker},
    "socket": {"gethostname": Reading, "getfqdn": Reading},
    "platform": {"node": Reading},
    "getpass": {"getuser": Reading},
    "timeit": {"timeit": kinds.Measured},
    "resource": {"getrusage": kinds.Measured},
    "tracemalloc": {"get_traced_memory": kinds.Measured},
    "psutil": dict.fromkeys(
        ("cpu_percent", "virtual_memory", "swap_memory", "cpu_times", "getloadavg"), kinds.Measured
    ),
    "numpy.random": {
        **dict.fromkeys(("default_rng", "SeedSequence", "PCG64", "MT19937", "Philox", "SFC64"), kinds.Seeding),
        **dict.fromkeys(("seed", "RandomState"), partial(kinds.Seeding, seed=kinds.as_words)),
    },
    "torch.cuda": dict.fromkeys(
        words(
            """memory_allocated max_memory_allocated memory_reserved max_memory_reserved mem_get_info utilization
            temperature"""
        ),
        kinds.Measured,
    ),
}


class InputWatch:
    """The stand-ins of one session, put in place and taken out again."""

    def __init__(
        self, imports: ImportWatch, inputs: Inputs, *, pid: int | None = None, clock: PastClock | None = None
    ) -> None:
        self.imports = imports
        self.inputs = inputs
        self.pid = pid  # of the recorded process, where that is answered
        self.clock = clock  # for libraries and files, where the script is told the time of the record
        self.undo: list[Callable[[], None]] = []

    def install(self) -> None:
        """Have the project's code ask us from now on."""
        for name, functions in MODULES.items():
            self.imports.when(name, partial(self._module, functions))
        self.imports.when("torch", self._torch)
        finders[:] = [kinds.date_method, kinds.measuring_method]
        if self.pid is not None:
            then = self.pid
            self.imports.when("os", partial(self._module, {"kill": partial(kinds.Kill, then=then)}))
            self.imports.when("psutil", partial(self._module, {"Process": partial(kinds.Process, then=then)}))
        if self.clock is not None:
            self._go_back(self.clock)
        self._add(builtins.input, kinds.Prompt(builtins.input, "builtins", "input"))
        if sys.stdin is not None:
            self._add(sys.stdin, kinds.stand_in(sys.stdin))
        self.imports.when("logging", self._logging)
        self.imports.when("tempfile", self._tempfile)
        current.inputs = self.inputs
        os.register_at_fork(after_in_child=_in_child)

    def _go_back(self, clock: PastClock) -> None:
        """Let libraries and files have the time of the record."""
        age = partial(FileTime, past=clock)
        self.imports.when("os", partial(self._module, {"stat": age, "lstat": age}))
        self.imports.when("posixpath", partial(self._module, dict.fromkeys(("getmtime", "getctime", "getatime"), age)))
        finders.append(clock.method)
        readings = {name: known[id(getattr(time, name))] for name in ("time", "time_ns")}
        self.undo.append(clock.install())
        for name, reading in readings.items():  # the project's own code goes on asking us
            self._add(getattr(time, name), reading)

    def turn_to(self, inputs: Inputs) -> None:
        """Have somebody else asked from now on."""
        self.inputs = current.inputs = inputs

    def remove(self) -> None:
        """Let the functions be what they were, wherever a stand-in is still held."""
        current.inputs = None
        while self.undo:
            self.undo.pop()()

    def _module(self, functions: dict[str, Callable[..., Any]], module: ModuleType) -> None:
        for name, kind in functions.items():
            function = getattr(module, name, None)
            if callable(function):
                self._add(function, kind(function, module.__name__, name))

    def _torch(self, module: Any) -> None:
        self._add(module.seed, kinds.Reseeding(module.seed, "torch", "seed", module.manual_seed))

    def _logging(self, module: ModuleType) -> None:
        self.undo.append(LogStamps(module).install())

    def _tempfile(self, module: ModuleType) -> None:
        self.undo.append(TemporaryNames.install(module))

    def _add(self, function: Any, made: Any) -> None:
        known[id(function)] = made  # the stand-in holds the function, so that its identity stays its own


def _in_child() -> None:
    """A forked child reads the world itself."""
    current.inputs = None
