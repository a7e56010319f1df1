"""Where a source names a function that tells it something of the world: the clock, entropy, the process, stdin.

Each such place `time.time` becomes `_flor.reading(time.time)`, which gives the function's stand-in. Only what the name
may stand for is decided here; whether it does is decided when it is executed.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from flor.source.logcalls import dotted, full_name, imported_names
from flor.source.words import words

FUNCTIONS: Mapping[str, frozenset[str]] = {
    "time": words(
        """time time_ns perf_counter perf_counter_ns monotonic monotonic_ns process_time process_time_ns thread_time
        thread_time_ns clock_gettime clock_gettime_ns ctime asctime localtime gmtime strftime"""
    ),
    "datetime": words("now utcnow today"),
    "date": words("today"),
    "timeit": words("default_timer timeit"),
    "os": words("urandom getrandom getpid getppid getlogin uname times getloadavg kill stat lstat"),
    "path": words("getmtime getctime getatime"),
    "uuid": words("uuid1 uuid4 getnode"),
    "secrets": words("token_hex token_bytes token_urlsafe randbelow randbits choice"),
    "socket": words("gethostname getfqdn"),
    "platform": words("node uname"),
    "getpass": words("getuser"),
    "random": words("seed default_rng"),  # also numpy's and torch's
    "torch": words("seed"),
    "resource": words("getrusage"),
    "psutil": words("cpu_percent virtual_memory swap_memory cpu_times getloadavg"),
    "tracemalloc": words("get_traced_memory"),
    "cuda": words(
        """memory_allocated max_memory_allocated memory_reserved max_memory_reserved mem_get_info utilization
        temperature"""
    ),
    "sys": words("stdin"),
}
"""By the last part of what comes before the dot. They may be passed around."""

CLASSES: Mapping[str, frozenset[str]] = {
    "random": words("Random SystemRandom RandomState SeedSequence PCG64 MT19937 Philox SFC64"),
    "secrets": words("SystemRandom"),
    "psutil": words("Process"),
}
"""What they make depends on the world if nothing is given to them; as classes they are left alone."""

METHODS = words(
    "memory_info memory_full_info memory_percent cpu_percent cpu_times elapsed_time stat lstat"
)  # of objects that measure; asked by their class when they are called

_NAMES = frozenset().union(*FUNCTIONS.values()) - {
    "choice",
    "seed",
    "node",
    "times",
    "now",
    "today",
    "kill",
    "stat",
    "lstat",
}
_SKIPPED = ("annotation", "returns")


def mark_inputs(tree: ast.Module, leave: Any) -> ast.Module:
    """The tree with a call of ours around each such name; functions for which `leave` is true stay as they are."""
    result = _Marker(_imports(tree), leave).visit(tree)
    assert isinstance(result, ast.Module)
    return result


def _imports(tree: ast.Module) -> dict[str, str]:
    """What each imported name stands for; also those from the project's own packages, and of `import *`."""
    found = imported_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.name == "*":
                    found |= {name: f"{node.module}.{name}" for name in FUNCTIONS.get(node.module or "", ())}
                else:
                    found.setdefault(alias.asname or alias.name, f"{node.module or ''}.{alias.name}")
    return found


class _Marker(ast.NodeTransformer):
    """Walks all expressions but annotations and patterns."""

    def __init__(self, imports: Mapping[str, str], leave: Any) -> None:
        self.imports = imports
        self.leave = leave

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Visit the children; annotations are no code that matters, and may be shown as text."""
        kept = {name: getattr(node, name) for name in _SKIPPED if getattr(node, name, None) is not None}
        for name in kept:
            setattr(node, name, None)
        super().generic_visit(node)
        for name, value in kept.items():
            setattr(node, name, value)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node if self.leave(node) else self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return node if self.leave(node) else self.generic_visit(node)

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.AST:
        return node

    def visit_MatchClass(self, node: ast.MatchClass) -> ast.AST:
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        called = node.func
        made = self._pair_in(called, CLASSES) or self._measures(called) or self._seeds(node)
        if made or (isinstance(called, ast.Name) and called.id == "input"):
            node.func = ast.Constant(None)
            self.generic_visit(node)
            if isinstance(called, ast.Attribute):
                called.value = self.visit(called.value)
            node.func = _marked(called)
            return node
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.ctx, ast.Load) and self._pair_in(node, FUNCTIONS):
            return _marked(node)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if not isinstance(node.ctx, ast.Load) or node.id not in self.imports:
            return node
        name = self.imports[node.id].rpartition(".")
        return _marked(node) if name[0] and (name[2] in _NAMES or self._pair_in(node, FUNCTIONS)) else node

    def _pair_in(self, node: ast.AST, table: Mapping[str, frozenset[str]]) -> bool:
        """True if the last two parts of a name are in a table."""
        owner, _, last = (full_name(node, self.imports) or dotted(node)).rpartition(".")
        return last in table.get(owner.rpartition(".")[2], ())

    def _measures(self, called: ast.expr) -> bool:
        return isinstance(called, ast.Attribute) and called.attr in METHODS

    def _seeds(self, node: ast.Call) -> bool:
        """True for `generator.seed()`: whatever it is of, nothing is given to it."""
        bare = not node.args and not node.keywords
        return bare and isinstance(node.func, ast.Attribute) and node.func.attr == "seed"


def _marked(node: ast.expr) -> ast.Call:
    """`_flor.reading(node)`, at the node's place."""
    hooks = ast.copy_location(ast.Name("_flor", ast.Load()), node)
    function = ast.copy_location(ast.Attribute(hooks, "reading", ast.Load()), node)
    return ast.copy_location(ast.Call(function, [node], []), node)
