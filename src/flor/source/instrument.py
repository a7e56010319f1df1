"""Source tree -> the same tree with a call of ours at each loop and function entry.

A `for` becomes                                 a `while` becomes

    try:                                            _flor.begin(LOOP)
        for x in _flor.iterate(LOOP, items):        try:
            ...                                         while _flor.turn(LOOP) and (test):
        _flor.done(LOOP)                                    ...
    finally:                                            _flor.done(LOOP)
        _flor.end(LOOP)                             finally:
                                                        _flor.end(LOOP)

and `flor.log(name, value)` becomes `_flor.log(STATEMENT, name, value)` where `flor` can only be ours. In a probe
`print(a, b)` becomes `_flor.say(print, a, b)`. The name of a function that tells something of the world, `time.time`,
becomes `_flor.reading(time.time)`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, TypeVar

from flor.model.positions import MODULE
from flor.model.records import Statement
from flor.source.blocks import Loop, find_loops
from flor.source.inputs import mark_inputs
from flor.source.logsites import flor_is_ours, is_log_call
from flor.source.watches import join_watches

HOOKS = "_flor"
Statements = list[ast.stmt]
WATCHED = (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.If, ast.For, ast.While, ast.With, ast.Try)
OWN_SCOPE = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
Function = TypeVar("Function", ast.FunctionDef, ast.AsyncFunctionDef)

# These read the bytecode of what they decorate and would choke on a call that they do not know.
COMPILERS = frozenset(
    {"jit", "njit", "vectorize", "guvectorize", "cfunc", "stencil", "jit_module", "kernel", "overload"}
)


def instrument(
    tree: ast.Module,
    file: str,
    rename: Callable[[str], str] = str,
    doubtful: AbstractSet[int] = frozenset(),
    probes: AbstractSet[int] = frozenset(),
) -> ast.Module:
    """The tree with calls to the runtime; positions are kept, so that tracebacks show the user's lines.

    `rename` gives the id that a loop is known by, where that is not its place in this source. `doubtful` are
    the lines of probes that might disturb training: a call before and one after each let replay see whether they do.
    `probes` are the lines of all probes.
    """
    loops = {loop.node: loop for loop in find_loops(tree, file)}
    result = _Instrumenter(file, loops, rename, doubtful, probes, flor_is_ours(tree)).visit(tree)
    assert isinstance(result, ast.Module)
    if doubtful:
        join_watches(result)
    result = mark_inputs(result, _is_compiled)
    return ast.fix_missing_locations(result)


class _Instrumenter(ast.NodeTransformer):
    """Walks statements; of expressions only calls that log are changed, and class bodies not at all."""

    def __init__(
        self,
        file: str,
        loops: Mapping[Any, Loop],
        rename: Callable[[str], str],
        doubtful: AbstractSet[int],
        probes: AbstractSet[int],
        flor_is_ours: bool,
    ) -> None:
        self.file = file
        self.doubtful = doubtful
        self.probes = probes
        self.in_probe = False
        self.loops = loops
        self.rename = rename
        self.flor_is_ours = flor_is_ours
        self.names: list[str] = []
        self.in_class = False

    def visit(self, node: ast.AST) -> Any:
        """Visit a node; a doubtful probe gets a call before and one after it."""
        if isinstance(node, OWN_SCOPE):
            return node
        if self.in_probe or not isinstance(node, WATCHED) or not self._is_doubtful(node):
            return super().visit(node)
        self.in_probe = True
        place = ast.Constant(f"{self.file}:{node.lineno}")
        before, after = (
            ast.copy_location(ast.Expr(_call(hook, place, at=node)), node) for hook in ("probing", "probed")
        )
        new = super().visit(node)
        self.in_probe = False
        return [before, *(new if isinstance(new, list) else [new]), after]

    def _is_doubtful(self, node: ast.stmt) -> bool:
        return all(line in self.doubtful for line in (node.lineno, node.end_lineno))

    def visit_For(self, node: ast.For) -> ast.stmt | Statements:
        self.generic_visit(node)
        loop = self.loops.get(node)
        if loop is None or not self._wanted(loop):
            return node
        name = self.rename(str(loop.id))
        node.iter = _call("iterate", ast.Constant(name), node.iter, at=node.iter)
        return _guarded(node, name)

    def visit_While(self, node: ast.While) -> ast.stmt | Statements:
        self.generic_visit(node)
        loop = self.loops.get(node)
        if loop is None or not self._wanted(loop):
            return node
        name = self.rename(str(loop.id))
        turn = _call("turn", ast.Constant(name), at=node.test)
        node.test = ast.copy_location(ast.BoolOp(ast.And(), [turn, node.test]), node.test)
        begin = ast.copy_location(ast.Expr(_call("begin", ast.Constant(name), at=node.test)), node)
        return [begin, _guarded(node, name)]

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        outer, self.in_class = self.in_class, True
        self.names.append(node.name)
        node.body = self._statements(node.body)
        self.names.pop()
        self.in_class = outer
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AsyncFunctionDef:
        return self._function(node)

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if node.lineno in self.probes and isinstance(node.func, ast.Name) and node.func.id == "print":
            say = _call("say", node.func, *node.args, at=node)
            say.keywords = node.keywords
            return say
        if not (self.flor_is_ours and is_log_call(node)):
            return node
        place = Statement(self.file, node.lineno, ".".join(self.names) or MODULE)
        return ast.copy_location(_call("log", ast.Constant(str(place)), *node.args, at=node), node)

    def _function(self, node: Function) -> Function:
        if _is_compiled(node):
            return node
        outer, self.in_class = self.in_class, False
        self.names.append(node.name)
        small = _says_nothing(node.body)
        node.body = self._statements(node.body)
        if not small:
            enter = ast.Expr(_call("enter", ast.Constant(f"{self.file}::{'.'.join(self.names)}"), at=node.body[-1]))
            place = 1 if ast.get_docstring(node, clean=False) is not None else 0
            # On the line of `def`, so that a tracer sees no line that the user did not write.
            enter.lineno, enter.end_lineno = node.lineno, node.lineno
            enter.col_offset = enter.end_col_offset = node.col_offset
            for part in ast.walk(enter):
                if isinstance(part, ast.expr):
                    ast.copy_location(part, enter)
            node.body.insert(place, enter)
        self.names.pop()
        self.in_class = outer
        return node

    def _statements(self, body: Statements) -> Statements:
        result: Statements = []
        for statement in body:
            new = self.visit(statement)
            result.extend(new if isinstance(new, list) else [new])
        return result

    def _wanted(self, loop: Loop) -> bool:
        """A loop that cannot matter, or whose body is interleaved with its consumer's, is left native."""
        return not (loop.trivial or loop.in_generator or self.in_class)


def _guarded(loop: ast.For | ast.While, name: str) -> ast.stmt:
    """The loop between `done` and `end`."""
    done, end = (ast.Expr(_call(hook, ast.Constant(name), at=loop)) for hook in ("done", "end"))
    for statement in (done, end):  # on the loop's first line only, so that a debugger does not stop on its last
        for node in (statement, *ast.walk(statement.value)):
            if isinstance(node, ast.expr | ast.stmt):
                ast.copy_location(node, loop)
                node.end_lineno, node.end_col_offset = node.lineno, node.col_offset
    guard = ast.Try(body=[loop, done], handlers=[], orelse=[], finalbody=[end])
    return ast.copy_location(guard, loop)


def _call(hook: str, *arguments: ast.expr, at: ast.stmt | ast.expr) -> ast.Call:
    """A call of a function of runtime.hooks, at the place of a node."""
    function = ast.Attribute(ast.Name(HOOKS, ast.Load()), hook, ast.Load())
    call = ast.Call(function, list(arguments), [])
    for node in (call, function, function.value, *arguments):
        if not hasattr(node, "lineno"):
            ast.copy_location(node, at)
    return call


def _is_compiled(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """True if a compiler of bytecode decorates it."""
    return any(_last_name(decorator) in COMPILERS for decorator in function.decorator_list)


def _last_name(decorator: ast.expr) -> str:
    """`jit` of `@numba.jit(nopython=True)`."""
    if isinstance(decorator, ast.Call):
        return _last_name(decorator.func)
    return decorator.attr if isinstance(decorator, ast.Attribute) else getattr(decorator, "id", "")


def _says_nothing(body: Statements) -> bool:
    """True for a function that only returns or stores something simple: its entry is not worth a call."""
    quiet = (ast.Return, ast.Pass, ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign)
    loud = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom)
    return all(isinstance(statement, quiet) for statement in body) and not any(
        isinstance(part, loud) for statement in body for part in ast.walk(statement)
    )
