"""The added statements of one file, told apart: probes, what serves them, and what is neither."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from flor.model.edits import Change, Kind, Probe
from flor.model.positions import MODULE
from flor.source.bindings import Function, bound_names, own_nodes, read_names
from flor.source.carried import find_carried
from flor.source.changes import change_of_header, change_of_statements
from flor.source.flows import Flow
from flor.source.fresh import fresh_names
from flor.source.graphs import graph_reads
from flor.source.harmless import find_doubts
from flor.source.linemap import covered
from flor.source.logcalls import imported_names, kind_of_call, log_calls
from flor.source.oldcode import OldCode, terminal
from flor.source.ownership import Ownership, kept_defaults, own_names, put_back
from flor.source.setting import Setting
from flor.source.support import is_supporting_header, without_superseded
from flor.source.treediff import Gap, Pair, TreeDiff, nested_name, sections


@dataclass(frozen=True)
class FileEdit:
    """One file that differs: both texts, the present tree, and how the trees align."""

    file: str
    recorded: str
    present: str
    tree: ast.Module
    diff: TreeDiff


@dataclass(frozen=True)
class Project:
    """What is common to all files: the recorded code, and the functions and classes that were added."""

    old: OldCode
    helpers: frozenset[str]
    definitions: Mapping[str, ast.AST]


def judge_file(edit: FileEdit, project: Project) -> tuple[list[Probe], list[Change]]:
    """The probes and the other changes of one file, each in the order of its lines."""
    judge = _FileJudge(edit, project)
    judge.run()
    return sorted(judge.probes, key=lambda probe: probe.first_line), judge.changes


@dataclass
class _FileJudge:
    edit: FileEdit
    project: Project
    probes: list[Probe] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)

    def __post_init__(self) -> None:
        edit, gaps = self.edit, self.edit.diff.gaps
        self.texts = edit.recorded, edit.present
        self.imports = imported_names(edit.tree)
        self.added = [statement for gap in gaps for statement in gap.added]
        self.fresh = {gap.function: self._fresh(gap.function) for gap in gaps}
        self.own = {gap.function: self._own(gap.function) for gap in gaps}
        self.defaults = {
            node.name: kept_defaults(node, self.added, self.imports)
            for part in self.added
            for node in ast.walk(part)
            if isinstance(node, Function)
        }
        self._put_back = {at: roots for gap in gaps for at, roots in put_back(gap.added, self.imports).items()}
        self.scopes = _scopes(edit.tree)
        self.live = self._liveness()
        self.carried = find_carried(
            edit.diff, edit.tree, self.scopes, self._is_new, self.imports, self.project.definitions
        )

    def run(self) -> None:
        """Judge every gap and every changed header."""
        for gap in self.edit.diff.gaps:
            self._gap(gap)
        for pair in self.edit.diff.pairs:
            if not pair.same_header:
                self._header(pair)

    def _gap(self, gap: Gap) -> None:
        removed = without_superseded(gap)
        strange: list[ast.stmt] = []
        reasons: list[str] = []
        for statement in gap.added:
            probe = self._probe(statement, gap)
            if probe.kind == "support" and probe.refused:
                strange.append(statement)
                reasons += [doubt.reason for doubt in probe.doubts if doubt.level == "certain"][:1]
            else:
                self.probes.append(probe)
        if removed:
            logs = all(self._only_logs(statement) for statement in removed) and not strange
            change = change_of_statements(self.edit.file, self.texts, removed, strange, only_logs=logs)
            self.changes.append(change)
        else:
            for statement, reason in zip(strange, reasons, strict=True):
                self.changes.append(change_of_statements(self.edit.file, self.texts, (), (statement,), reason))

    def _probe(self, statement: ast.stmt, gap: Gap) -> Probe:
        lines, reads = covered(statement), frozenset(read_names(statement))
        touched = reads | bound_names(statement)
        graph = graph_reads(statement)
        return Probe(
            file=self.edit.file,
            function=gap.function,
            first_line=lines.start,
            last_line=lines.stop - 1,
            kind=self._kind(statement),
            reads=reads,
            doubts=find_doubts(statement, self._setting(statement, gap)),
            carries=self.carried.by(statement, gap.function, touched) | graph,
            deferred=bool(graph) or self._deferred(statement, gap),
        )

    def _setting(self, statement: ast.stmt, gap: Gap) -> Setting:
        old = self.project.old
        return Setting(
            old=old,
            file=self.edit.file,
            names=old.scope(self.edit.file, gap.function),
            imports=self.imports,
            live=self.live.get(id(statement), frozenset()),
            fresh=self.fresh[gap.function],
            own=self.own.get(gap.function, frozenset()),
            defaults=self.defaults,
            put_back=self._put_back.get(id(statement), frozenset()),
            helpers=self.project.helpers,
            switched_back=_switched_back(gap.added),
            given_back=_given_back(gap),
            at_module=gap.function == MODULE,
            in_class=self._in_class(gap),
        )

    def _fresh(self, function: str) -> frozenset[str]:
        """Added names of a scope that hold objects of their own."""
        own = self._added_to(function)
        found = frozenset(name for name in fresh_names(own, self.imports) if self._is_new(function, name))
        if function == MODULE:
            return found
        hidden = {name for part in own for name in bound_names(part)}
        return found | frozenset(name for name in self._fresh(MODULE) - hidden if self._is_new(function, name))

    def _own(self, function: str) -> frozenset[str]:
        """Added names of a scope that hold nothing but objects of the probe's own; those of the module are seen too."""
        around = self._own(MODULE) if function != MODULE else frozenset()
        judge = Ownership(self.imports, self.project.helpers, self.project.old.calm, around)
        return around | frozenset(
            name for name in own_names(self._added_to(function), judge) if self._is_new(function, name)
        )

    def _added_to(self, function: str) -> list[ast.stmt]:
        return [part for gap in self.edit.diff.gaps if gap.function == function for part in gap.added]

    def _in_class(self, gap: Gap) -> bool:
        return isinstance(self.scopes.get(gap.function), ast.ClassDef)

    def _is_new(self, function: str, name: str) -> bool:
        names = self.project.old.scope(self.edit.file, function)
        return name not in names.bound | names.read

    def _liveness(self) -> dict[int, frozenset[str]]:
        """For each added statement the names that recorded code may read after it."""
        found: dict[int, frozenset[str]] = {}
        transparent = frozenset(map(id, self.added))
        touched = {gap.function for gap in self.edit.diff.gaps}
        for function, node in self.scopes.items():
            if function not in touched:
                continue
            names = self.project.old.scope(self.edit.file, function)
            flow = Flow(frozenset(names.inner | names.outer), transparent)
            found |= flow.run(node.body).after
        return found

    def _kind(self, statement: ast.stmt) -> Kind:
        """How the statement logs, itself or through a function that it calls."""
        if isinstance(statement, Function | ast.ClassDef):
            return "support"
        return next(iter(self._kinds(statement, set())), "support")

    def _kinds(self, node: ast.AST, seen: set[str]) -> Iterable[Kind]:
        for part in own_nodes(node):
            if not isinstance(part, ast.Call):
                continue
            if kind := kind_of_call(part, self.imports):
                yield kind
                continue
            name = terminal(part.func)
            if name and name not in seen:
                seen.add(name)
                for body in self._bodies(name):
                    yield from self._kinds(body, seen)

    def _bodies(self, name: str) -> Iterable[ast.stmt]:
        """The bodies of added and recorded functions of a name."""
        helper = self.project.definitions.get(name)
        nodes = [helper] if helper else [found.node for found in self.project.old.functions.get(name, ())]
        for node in nodes:
            yield from getattr(node, "body", [])

    def _deferred(self, statement: ast.stmt, gap: Gap) -> bool:
        """True if something that logs is handed over and may be called from anywhere."""
        if isinstance(statement, Function | ast.ClassDef):
            return self._in_class(gap)
        nodes = list(own_nodes(statement))
        if any(isinstance(node, ast.Lambda) and any(log_calls(node, self.imports)) for node in nodes):
            return True
        called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
        for node in nodes:
            helper = self.project.definitions.get(terminal(node))
            handed = helper is not None and (id(node) not in called or isinstance(helper, ast.ClassDef))
            if handed and helper is not None and any(log_calls(helper, self.imports)):
                return True
        return False

    def _only_logs(self, statement: ast.stmt) -> bool:
        """True if a statement that was taken away is one plain log call."""
        if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
            return False
        return kind_of_call(statement.value, self.imports) is not None

    def _header(self, pair: Pair) -> None:
        names = self.project.old.scope(self.edit.file, pair.function)
        if not is_supporting_header(pair.old, pair.new, names):
            self.changes.append(change_of_header(self.edit.file, self.texts, pair.old, pair.new))
            return
        line = pair.new.lineno
        target, source = getattr(pair.new, "target", pair.new), getattr(pair.new, "iter", pair.new)
        reads = frozenset(read_names(source)) - bound_names(target)
        self.probes.append(Probe(self.edit.file, pair.function, line, line, "support", reads))


def _given_back(gap: Gap) -> frozenset[str]:
    """The names of imports that other imports took the place of."""
    left = without_superseded(gap)
    return frozenset(name for statement in gap.removed if statement not in left for name in bound_names(statement))


def _switched_back(added: Iterable[ast.stmt]) -> frozenset[str]:
    """The receivers of `.eval()` that the same addition switches back with `.train()`."""
    modes: dict[str, list[str]] = {}
    for statement in added:
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MODES:
                modes.setdefault(ast.unparse(node.func.value), []).append(node.func.attr)
    return frozenset(name for name, calls in modes.items() if "eval" in calls and calls[-1] == "train")


_MODES = ("train", "eval")


def _scopes(tree: ast.Module) -> dict[str, ast.Module | Function | ast.ClassDef]:
    """Every scope of a file by qualified name."""
    found: dict[str, ast.Module | Function | ast.ClassDef] = {MODULE: tree}

    def enter(body: Iterable[ast.stmt], name: str) -> None:
        for statement in body:
            inner = nested_name(name, statement)
            if isinstance(statement, Function | ast.ClassDef):
                found[inner] = statement
            for _, block in sections(statement):
                enter(block, inner)

    enter(tree.body, MODULE)
    return found
