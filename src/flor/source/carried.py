"""Which added names take a value from one iteration of a recorded loop into a later one."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping

from flor.source.bindings import bound_names, declared_names, names_by_scope, own_nodes, parameters
from flor.source.flows import Flow, statements
from flor.source.fresh import root_name
from flor.source.known import HARMLESS, judge_builtin, judge_dotted, judge_method
from flor.source.logcalls import full_name, kind_of_call
from flor.source.treediff import TreeDiff

LOOPS = (ast.For, ast.AsyncFor, ast.While)
Scopes = Mapping[str, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]


def carried_names(
    diff: TreeDiff, tree: ast.Module, scopes: Scopes, is_new: Callable[[str, str], bool], imports: Mapping[str, str]
) -> dict[str, frozenset[str]]:
    """By function, the added names that no checkpoint holds and that replay must carry on by executing.

    `acc = 0` before a loop, `acc += x` in it: skipping an iteration would lose a part of the sum.
    """
    added = {id(statement): statement for gap in diff.gaps for statement in gap.added}
    always = frozenset(name for statement in added.values() for name in _changed_later(statement, imports))
    if not always and not any(changed_names(part, imports) or declared_names(part) for part in added.values()):
        return {}  # the usual case: nothing but log calls
    names = names_by_scope(tree)
    loops = {id(pair.new) for pair in diff.pairs if isinstance(pair.new, LOOPS)}
    found: dict[str, frozenset[str]] = {}
    for function in {gap.function for gap in diff.gaps}:
        if function not in scopes or isinstance(scopes[function], ast.ClassDef):
            found[function] = always  # a method that is added may keep something on its object
            continue
        escaped = frozenset(names[function].inner | names[function].outer)
        body = scopes[function].body
        likely, possible = (Flow(escaped, once=once).run(body).starts for once in (True, False))
        carried: set[str] = set()
        for loop in statements(body):
            if id(loop) not in loops:
                continue
            inside = changed_in(loop, added, imports)
            # An inner loop without a single iteration leaves an older value, or else a name that is not bound
            # (which is an error for all to see): only in the first case must it be reckoned with.
            outside = {name for part in added_outside(loop, body, added) for name in bound_names(part)}
            exposed = likely[id(loop)] | (possible[id(loop)] & outside)
            carried |= {name for name in inside if "." in name or (name in exposed and is_new(function, name))}
        declared = {name for part in body for name in declared_names(part) if is_new(function, name)}
        attributes = {name for part in added.values() for name in changed_names(part, imports) if "." in name}
        found[function] = frozenset(carried | declared | attributes) | always
    return found


def _changed_later(statement: ast.stmt, imports: Mapping[str, str]) -> set[str]:
    """The names from outside that added functions and lambdas change, whenever they are called."""
    found: set[str] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Global | ast.Nonlocal):
            found |= set(node.names)
        elif isinstance(node, ast.Lambda):
            found |= _changed_by_nodes(node.body, imports) - parameters(node.args)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            own = parameters(node.args) | {name for part in node.body for name in bound_names(part)}
            inside = {name for part in node.body for name in changed_names(part, imports)}
            found |= {name for name in inside - own if "." not in name}
            if node.name != "__init__":
                found |= _kept_on_objects(inside, parameters(node.args))
    return found


def _kept_on_objects(changed: set[str], given: set[str]) -> set[str]:
    """What a function that is called again and again leaves on the objects that it is given: `self.seen`."""
    attributes = {name for name in changed if name.partition(".")[0] in given and "." in name}
    return attributes | ({"self.*"} if "self" in changed & given else set())


def added_outside(loop: ast.stmt, body: Iterable[ast.stmt], added: Mapping[int, ast.stmt]) -> Iterable[ast.stmt]:
    """The added statements of a scope that are not in a loop."""
    inside = set(map(id, statements([loop])))
    return [part for part in statements(body) if id(part) in added and id(part) not in inside]


def changed_in(loop: ast.stmt, added: Mapping[int, ast.stmt], imports: Mapping[str, str]) -> set[str]:
    """The names that added statements inside a loop change."""
    return {name for node in own_nodes(loop) if id(node) in added for name in changed_names(added[id(node)], imports)}


def changed_names(statement: ast.stmt, imports: Mapping[str, str]) -> set[str]:
    """The names that a statement binds or whose objects it may change; a new attribute as `self.x`."""
    return bound_names(statement) | _changed_by_nodes(statement, imports)


def _changed_by_nodes(top: ast.AST, imports: Mapping[str, str]) -> set[str]:
    found: set[str] = set()
    for node in own_nodes(top):
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            found.add(root_name(node))
            if isinstance(node, ast.Attribute):
                found.add(f"{root_name(node)}.{node.attr}")
        elif isinstance(node, ast.Call) and not kind_of_call(node, imports):
            found |= _changed_by(node, imports)
    return found - {""}


def _changed_by(call: ast.Call, imports: Mapping[str, str]) -> set[str]:
    """The names whose objects a call may change: its receiver, and what it is given."""
    given = {root_name(arg) for arg in (*call.args, *(keyword.value for keyword in call.keywords))}
    if path := full_name(call.func, imports):
        return set() if judge_dotted(path) is HARMLESS else given
    if isinstance(call.func, ast.Name):
        known = call.func.id != "next" and judge_builtin(call.func.id) is HARMLESS
        return set() if known else given
    if isinstance(call.func, ast.Attribute) and judge_method(call.func.attr) is HARMLESS:
        return set()
    return given | {root_name(call.func)}
