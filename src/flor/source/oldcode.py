"""What the recorded code of a project has, so that added code can be held against it."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from flor.source.bindings import Function, Names, names_by_scope, own_nodes
from flor.source.known import HARMLESS, Verdict, judge_dotted
from flor.source.logcalls import full_name, imported_names
from flor.source.words import words

_ITERATOR_MAKERS = words("iter zip map filter enumerate reversed open reader cycle chain islice count")
_ASKED = words("parameters named_parameters state_dict load_state_dict zero_grad train eval modules children")
_LOOKS = words("globals locals vars dir eval exec")


@dataclass(frozen=True)
class Defined:
    """A function of the recorded project, with what its file imports."""

    node: Function
    file: str
    imports: Mapping[str, str]


@dataclass(frozen=True)
class OldCode:
    """Facts of all recorded files, by name."""

    names: Mapping[str, Mapping[str, Names]]
    functions: Mapping[str, tuple[Defined, ...]]
    classes: frozenset[str]
    modules: frozenset[str]
    attributes: frozenset[str]
    strings: frozenset[str]
    iterators: frozenset[str]
    loaders: frozenset[str]
    sets: frozenset[str]
    nets: frozenset[str]  # variables that are called or asked for their parameters
    imports: Mapping[str, Mapping[str, str]]
    calm: frozenset[str]  # variables whose call only computes: a loss function, an activation
    looks_around: frozenset[str]  # files that ask for their names: globals(), locals()
    summaries: dict[str, Verdict] = field(default_factory=dict, compare=False)

    def scope(self, file: str, function: str) -> Names:
        """The names of a recorded scope; an empty one if it is new."""
        return self.names.get(file, {}).get(function) or Names()


def read_old_code(trees: Mapping[str, ast.Module], edited: Iterable[str]) -> OldCode:
    """Collect the facts of the recorded files; the names of scopes only of those that were edited."""
    parts = {file: list(ast.walk(tree)) for file, tree in trees.items()}
    imports = {file: imported_names(tree) for file, tree in trees.items()}
    nodes = [node for found in parts.values() for node in found]
    functions: dict[str, list[Defined]] = defaultdict(list)
    for file, found in parts.items():
        for node in found:
            if isinstance(node, Function):
                functions[node.name].append(Defined(node, file, imports[file]))
    classes = {node.name for node in nodes if isinstance(node, ast.ClassDef)}
    makers = _ITERATOR_MAKERS | {name for name, found in functions.items() if any(map(_yields, found))}
    iterators, loaders = _bound_iterators(nodes, makers)
    return OldCode(
        names={file: names_by_scope(trees[file]) for file in edited if file in trees},
        functions={name: tuple(found) for name, found in functions.items()},
        classes=frozenset(classes),
        modules=frozenset(PurePosixPath(file).stem for file in trees),
        attributes=frozenset(node.attr for node in nodes if isinstance(node, ast.Attribute)) | set(functions),
        strings=frozenset(text for node in nodes if isinstance(text := getattr(node, "value", None), str)),
        iterators=iterators,
        loaders=loaders,
        sets=frozenset(name for name, value in _assigned(nodes) if _is_set(value)),
        nets=frozenset(filter(None, map(_net, nodes))) - set(functions) - classes,
        imports=imports,
        calm=frozenset(name for file, found in parts.items() for name in _calm(found, imports[file])),
        looks_around=frozenset(file for file, found in parts.items() if any(map(_looks, found))),
    )


def terminal(node: ast.AST) -> str:
    """The last name of an expression: `loader` of `self.loader`; empty if it has none."""
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def _yields(defined: Defined) -> bool:
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for part in defined.node.body for node in own_nodes(part))


def _looks(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _LOOKS


def _is_set(value: ast.expr) -> bool:
    made = isinstance(value, ast.Call) and terminal(value.func) == "set"
    return made or isinstance(value, ast.Set | ast.SetComp)


def _net(node: ast.AST) -> str:
    """The variable that a call shows to be a module: it is called, or asked for what modules have."""
    if not isinstance(node, ast.Call):
        return ""
    asked = isinstance(node.func, ast.Attribute) and node.func.attr in _ASKED
    return terminal(node.func.value) if asked and isinstance(node.func, ast.Attribute) else terminal(node.func)


def _assigned(nodes: Iterable[ast.AST]) -> Iterable[tuple[str, ast.expr]]:
    """Every plain assignment as (last name of the target, value)."""
    for node in nodes:
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=False))
            elif isinstance(target, ast.Tuple):
                pairs = [(part, node.value) for part in target.elts]
            yield from ((terminal(part), value) for part, value in pairs if terminal(part))


def _bound_iterators(nodes: list[ast.AST], makers: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    """The variables that hold iterators, and those that hold data loaders."""
    iterators, loaders = set(), set()
    for name, value in _assigned(nodes):
        maker = terminal(value.func) if isinstance(value, ast.Call) else ""
        if isinstance(value, ast.GeneratorExp) or maker in makers:
            iterators.add(name)
        elif ("loader" in maker.lower() and "loader" in name.lower()) or maker == "DataLoader":
            loaders.add(name)
    for node in nodes:
        if isinstance(node, ast.Call) and terminal(node.func) == "next" and node.args:
            iterators.add(terminal(node.args[0]))
    return frozenset(iterators - {""}), frozenset(loaders)


def _calm(nodes: Iterable[ast.AST], imports: Mapping[str, str]) -> Iterable[str]:
    """Variables bound to layers without state, such as `criterion = nn.CrossEntropyLoss()`."""
    for name, value in _assigned(nodes):
        path = full_name(value.func, imports) if isinstance(value, ast.Call) else ""
        if path.startswith("torch.nn.") and judge_dotted(path) is HARMLESS:
            yield name
