"""Which added names take a value from one iteration of a recorded loop into a later one."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from flor.model.positions import MODULE
from flor.source.bindings import Names, bound_names, declared_names, names_by_scope, own_nodes
from flor.source.flows import Flow, statements
from flor.source.holding import Holdings
from flor.source.remembering import exchanges_files, remembered
from flor.source.treediff import TreeDiff

LOOPS = (ast.For, ast.AsyncFor, ast.While)
Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Scopes = Mapping[str, Scope]
FILES = "files."


@dataclass(frozen=True)
class Carried:
    """What no checkpoint holds and replay must carry on by executing: by function, and by added statement."""

    names: Mapping[str, frozenset[str]] = field(default_factory=dict)
    remembered: Mapping[int, frozenset[str]] = field(default_factory=dict)

    def by(self, statement: ast.stmt, function: str, touched: frozenset[str]) -> frozenset[str]:
        """What one added statement carries: of the names of its function those that it touches."""
        names = {name for name in self.names.get(function, ()) if name in touched or "." in name}
        return self.remembered.get(id(statement), frozenset()) | names


def find_carried(
    diff: TreeDiff,
    tree: ast.Module,
    scopes: Scopes,
    is_new: Callable[[str, str], bool],
    imports: Mapping[str, str],
    definitions: Mapping[str, ast.AST],
) -> Carried:
    """What the added statements carry; certain is only what is named as harmless, all else counts.

    `acc = 0` before a loop, `acc += x` in it: skipping an iteration would lose a part of the sum.
    """
    added = {id(statement): statement for gap in diff.gaps for statement in gap.added}
    holdings = Holdings(imports, definitions)
    holdings.read(added.values())
    kept = {at: frozenset(names) for at, part in added.items() if (names := remembered(part, holdings))}
    holdings.remembering |= {name for at in kept for name in bound_names(added[at])}
    exchange = exchanges_files(added, imports)
    if not kept and not exchange and not any(_changed(part, holdings) for part in added.values()):
        return Carried()  # the usual case: nothing but log calls
    search = _Search(added, holdings, {id(pair.new) for pair in diff.pairs if isinstance(pair.new, LOOPS)}, is_new)
    scoped = names_by_scope(tree)
    always = frozenset(name for names in kept.values() for name in names)
    if exchange:
        always |= {FILES}
    found: dict[str, frozenset[str]] = {}
    for function in {gap.function for gap in diff.gaps}:
        scope = scopes.get(function)
        if scope is None or isinstance(scope, ast.ClassDef):
            found[function] = always  # a method that is added may keep something on its object
        else:
            found[function] = always | search.of(function, scope, scoped[function])
    return Carried(found, kept)


@dataclass(frozen=True)
class _Search:
    """Looks through the scopes of one file."""

    added: Mapping[int, ast.stmt]
    holdings: Holdings
    loops: set[int]  # recorded ones
    is_new: Callable[[str, str], bool]

    def of(self, function: str, scope: Scope, names: Names) -> set[str]:
        """The names of one scope, and those of scopes around it that are changed here."""
        body = scope.body
        escaped = frozenset(names.inner | names.outer)
        likely, possible = (Flow(escaped, once=once).run(body).starts for once in (True, False))
        carried: set[str] = set()
        looped: set[int] = set()
        for loop in statements(body):
            if id(loop) not in self.loops:
                continue
            # An inner loop without a single iteration leaves an older value, or else a name that is not bound
            # (which is an error for all to see): only in the first case must it be reckoned with.
            outside = {name for part in self._outside(loop, body) for name in bound_names(part)}
            exposed = likely[id(loop)] | (possible[id(loop)] & outside)
            parts = [self.added[id(node)] for node in own_nodes(loop) if id(node) in self.added]
            looped |= set(map(id, parts))
            carried |= {name for part in parts for name in self._kept(function, part, exposed)}
        rest = [part for part in statements(body) if id(part) in self.added and id(part) not in looped]
        local = frozenset() if function == MODULE else frozenset(names.bound - names.outer)
        for part in rest:
            carried |= {name for name in _changed(part, self.holdings) if self._lasts(function, name, local)}
        if function != MODULE:  # it may be called in every iteration of a loop elsewhere
            inside = {name for part in statements(body) if id(part) in self.added for name in self._of(part)}
            carried |= {name for name in inside - local if self.is_new(function, name) and name in self.holdings.names}
        declared = {name for part in body for name in declared_names(part) if self.is_new(function, name)}
        return carried | declared

    def _kept(self, function: str, part: ast.stmt, exposed: frozenset[str]) -> Iterable[str]:
        """What a statement in a loop changes and a later iteration finds changed."""
        for name in _changed(part, self.holdings):
            root = name.partition(".")[0]
            if not self.is_new(function, root):
                yield from [name] if "." in name else []
            elif root in exposed:
                yield name

    def _lasts(self, function: str, name: str, local: frozenset[str]) -> bool:
        """True for an attribute of an object that is there before, or elsewhere."""
        root, dot, _ = name.partition(".")
        own = root in local if function != MODULE else root in self.holdings.names
        return bool(dot) and not (own and self.is_new(function, root))

    def _of(self, part: ast.stmt) -> set[str]:
        return {name.partition(".")[0] for name in _changed(part, self.holdings)}

    def _outside(self, loop: ast.stmt, body: Iterable[ast.stmt]) -> Iterable[ast.stmt]:
        """The added statements of a scope that are not in a loop."""
        inside = set(map(id, statements([loop])))
        return [part for part in statements(body) if id(part) in self.added and id(part) not in inside]


def _changed(statement: ast.stmt, holdings: Holdings) -> set[str]:
    """The names that a statement binds or whose objects it may change; a new attribute as `self.x`."""
    return bound_names(statement) | holdings.changed_by(statement)
