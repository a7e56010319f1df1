"""Calls whose value differs from run to run: clocks, process ids, addresses, hosts, temporary names."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from flor.source.logcalls import dotted, full_name
from flor.source.words import words

_FUNCTIONS = words(
    """time.time time.time_ns time.perf_counter time.perf_counter_ns time.monotonic time.monotonic_ns
    time.process_time time.process_time_ns time.thread_time time.clock time.ctime time.asctime time.localtime
    time.gmtime time.strftime datetime.datetime.now datetime.datetime.utcnow datetime.datetime.today
    datetime.date.today timeit.default_timer timeit.timeit timeit.repeat os.getpid os.getppid os.times
    os.getloadavg os.uname os.urandom os.getlogin socket.gethostname socket.getfqdn platform.node getpass.getuser
    resource.getrusage threading.get_ident threading.get_native_id uuid.uuid1 uuid.uuid4
    torch.cuda.mem_get_info torch.cuda.utilization torch.cuda.temperature"""
)
_MODULES = ("psutil.", "tempfile.", "tracemalloc.", "secrets.", "timeit.", "pynvml.", "GPUtil.")
_CUDA_MEMORY = ("memory_", "max_memory_")
_METHODS = words(
    """perf_counter elapsed_time memory_info cpu_percent virtual_memory utcnow process_time monotonic
    format_dict rusage"""
)


def is_clock(call: ast.Call, imports: Mapping[str, str]) -> bool:
    """True if the call itself is the source of a value that no replay repeats."""
    name = full_name(call.func, imports) or dotted(call.func)
    if name == "id":
        return True
    if name in ("time.ctime", "time.localtime", "time.gmtime", "time.strftime"):
        return len(call.args) < (2 if name == "time.strftime" else 1)  # with an argument they only convert it
    if name in _FUNCTIONS or name.startswith(_MODULES):
        return True
    last = name.rpartition(".")[2]
    if name.startswith(("torch.cuda.", "torch.mps.", "torch.xpu.")):
        return last.startswith(_CUDA_MEMORY)
    return isinstance(call.func, ast.Attribute) and call.func.attr in _METHODS
