"""Where code reads an object of which only the names are known, other than by calls whose value is dropped."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from flor.source.logcalls import full_name, imported_names, kind_of_call
from flor.source.scopes import FUNCTIONS, parameters
from flor.source.words import words

FIXED = words("log_dir logdir get_logdir dir name id path url project config settings number fileno file_writer info")
"""Attributes that a tracker, a writer or a figure has from its beginning on."""

_DESCRIPTORS = words("os.open os.pipe os.pipe2 os.dup os.dup2 os.openpty pty.openpty os.memfd_create os.eventfd")
_READING = ("print", "logging", "flor.log")


@dataclass
class FileReads:
    """One file: each node with the one around it."""

    file: str
    tree: ast.Module
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.imports = imported_names(self.tree)
        for node in ast.walk(self.tree):
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node

    def occurrences(self, name: str) -> Iterator[ast.expr]:
        """Where a variable or an attribute of that name is loaded."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
                yield node
            elif isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Load):
                parent = self.parents[node]
                if not isinstance(parent, ast.Call) or parent.func is not node:  # else it is a method's name
                    yield node

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around one, from the inside out."""
        while node in self.parents:
            node = self.parents[node]
            yield node


@dataclass(frozen=True)
class Past:
    """Statements that have run when a loop runs: those of a file's top level or a function before a line."""

    file: str
    scope: ast.AST | None  # the loop's own function, if it is called once
    line: int


@dataclass
class HandleReads:
    """All files of a project."""

    trees: Mapping[str, ast.Module]

    def __post_init__(self) -> None:
        self.files = [FileReads(file, tree) for file, tree in self.trees.items()]
        self.functions: dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef]] = {}
        for tree in self.trees.values():
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    self.functions.setdefault(node.name, []).append(node)
                elif isinstance(node, ast.ClassDef):
                    made = [part for part in node.body if isinstance(part, ast.FunctionDef) and part.name == "__init__"]
                    self.functions.setdefault(node.name, []).extend(made)

    def descriptors(self) -> tuple[str, ...]:
        """The names of numbers that stand for a file or a pipe of the system, of which no checkpoint knows."""
        found: set[str] = set()
        for file in self.files:
            made = [node for node in ast.walk(file.tree) if isinstance(node, ast.Assign)]
            for node in made:
                called = full_name(node.value.func, file.imports) if isinstance(node.value, ast.Call) else ""
                parts = [part for target in node.targets for part in ast.walk(target)] if called in _DESCRIPTORS else []
                found.update(part.id for part in parts if isinstance(part, ast.Name) and part.id != "self")
                found.update(part.attr for part in parts if isinstance(part, ast.Attribute))
        return tuple(sorted(found))

    def where(self, names: tuple[str, ...], past: Past) -> str:
        """The first place, `file:line`, that reads what these names lead to; empty if none does."""
        todo, seen = list(names), set(names)
        while todo:
            name = todo.pop()
            for file in self.files:
                for node in file.occurrences(name):
                    if _is_past(node, file, past):
                        continue
                    aliases = self._aliases(node, file)
                    if aliases is None:
                        return f"{file.file}:{node.lineno}"
                    todo += [alias for alias in aliases if alias not in seen]
                    seen.update(aliases)
        return ""

    def _aliases(self, node: ast.expr, file: FileReads) -> list[str] | None:
        """Further names under which it is used from here on; None if it is read here."""
        top, first = node, ""
        parent = file.parents[top]
        while _is_receiver(top, parent):
            if isinstance(parent, ast.Attribute):
                first = first or parent.attr
            top = parent  # type: ignore[assignment]
            parent = file.parents[top]
        if isinstance(parent, ast.Await):
            parent = file.parents[parent]
        if first in FIXED or isinstance(parent, ast.Expr | ast.withitem):
            return []
        if isinstance(getattr(top, "ctx", None), ast.Store) and isinstance(parent, ast.Assign | ast.AnnAssign):
            return []  # `run.summary["best"] = x` is written to it, and read by nobody here
        if top is not node:
            return None
        return self._passed_on(node, parent, file)

    def _passed_on(self, node: ast.expr, parent: ast.AST, file: FileReads) -> list[str] | None:
        match parent:
            case ast.Compare(ops=[ast.Is() | ast.IsNot()]) | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                return []
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test) if test is node:
                return []
            case ast.Assign(targets=[ast.Name(id=name) | ast.Attribute(attr=name)]):
                return [name]
            case ast.Return():
                return [part.name for part in file.around(node) if isinstance(part, FUNCTIONS)][:1]
            case ast.Call():
                return self._given(node, parent, "", file)
            case ast.keyword(arg=str(word)) if isinstance(file.parents[parent], ast.Call):
                return self._given(node, file.parents[parent], word, file)  # type: ignore[arg-type]
            case _:
                return [] if self._is_dropped(node, file) else None

    def _given(self, node: ast.expr, call: ast.Call, word: str, file: FileReads) -> list[str] | None:
        """The parameters that it becomes in functions of the project's."""
        called = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
        if called not in self.functions:
            return [] if self._is_dropped(node, file) else None
        found = []
        for function in self.functions[called]:
            taken = list(parameters(function))
            if word:
                found += [word] if word in taken else []
                continue
            place = call.args.index(node) + (taken[:1] in (["self"], ["cls"]))
            if place >= len(taken):
                return None
            found.append(taken[place])
        return found

    def _is_dropped(self, node: ast.expr, file: FileReads) -> bool:
        """True in a call of a library whose value is dropped and that shows nothing of its arguments here."""
        for part in file.around(node):
            if isinstance(part, ast.Call) and kind_of_call(part, file.imports) in _READING:
                return False
            if isinstance(part, ast.stmt):
                return isinstance(part, ast.Expr) and isinstance(part.value, ast.Call | ast.Await)
        return False


def _is_receiver(node: ast.AST, parent: ast.AST) -> bool:
    match parent:
        case ast.Attribute(value=inner) | ast.Call(func=inner) | ast.Subscript(value=inner):
            return inner is node
        case _:
            return False


def _is_past(node: ast.AST, file: FileReads, past: Past) -> bool:
    """True for a statement that is not executed again once the loop runs."""
    around = list(file.around(node))
    scope = next((part for part in around if isinstance(part, (*FUNCTIONS, ast.Lambda))), None)
    if any(isinstance(part, ast.For | ast.AsyncFor | ast.While) for part in around) and scope is not past.scope:
        return False
    if scope is None and file.file != past.file:
        return True
    if file.file != past.file or (scope is not None and scope is not past.scope):
        return False
    return getattr(node, "end_lineno", past.line) < past.line
