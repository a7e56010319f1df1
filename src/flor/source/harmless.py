"""Whether an added statement could disturb training, judged before anything runs."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from flor.model.edits import Doubt, Level
from flor.model.positions import MODULE
from flor.source.bindings import Function, Names, bound_names, declared_names, parameters
from flor.source.calls import CallJudge
from flor.source.fresh import fresh_names, is_fresh, root_name
from flor.source.known import HARMLESS, Verdict
from flor.source.logcalls import full_name
from flor.source.oldcode import Defined, terminal
from flor.source.ownership import kept_parts
from flor.source.setting import Setting
from flor.source.words import words

_CONSUMERS = words(
    """iter next list tuple set frozenset dict sum max min sorted any all zip enumerate map filter tqdm trange
    reversed join islice chain cycle track deque Counter array tensor fromiter"""
)


def find_doubts(statement: ast.stmt, setting: Setting) -> tuple[Doubt, ...]:
    """Every way in which the statement could disturb training, in the order of its lines."""
    judge = _Judge(setting)
    judge.visit(statement)
    return tuple(sorted(dict.fromkeys(judge.doubts), key=lambda doubt: doubt.line))


def summarize(name: str, setting: Setting) -> Verdict:
    """What a call of a recorded function does: the worst that its body does, worked out once."""
    known = setting.old.summaries.get(name)
    if known is not None:
        return known
    setting.old.summaries[name] = HARMLESS  # while it is worked out: a recursive call adds nothing
    doubts = [doubt for defined in setting.old.functions[name] for doubt in _doubts_of_body(defined, setting)]
    worst = next((doubt for doubt in doubts if doubt.level == "certain"), doubts[0] if doubts else None)
    verdict = Verdict(worst.level, f"calls {name}(): {worst.reason}") if worst else HARMLESS
    setting.old.summaries[name] = verdict
    return verdict


def _doubts_of_body(defined: Defined, setting: Setting) -> list[Doubt]:
    inner = Setting(setting.old, defined.file, Names(), defined.imports, helpers=setting.helpers, summary=True)
    judge = _Judge(inner)
    judge.enter(defined.node)
    return judge.doubts


_BARE = words("add sort to cuda cpu half float double bfloat16 get type")
_CALLERS = words("map filter reduce partial starmap apply")


def _handed_over(call: ast.Call) -> list[ast.expr]:
    """What a call is given in order to call it: the function of `map`, the `key` of `sorted`."""
    keys = [keyword.value for keyword in call.keywords if keyword.arg in ("key", "default_factory")]
    firsts = call.args[:1] if terminal(call.func) in _CALLERS else []
    return [part for part in (*keys, *firsts) if not isinstance(part, ast.Lambda | ast.Constant | ast.Starred)]


@dataclass
class _Judge(ast.NodeVisitor):
    """Walks an added statement; a visitor each for what can disturb."""

    setting: Setting
    doubts: list[Doubt] = field(default_factory=list)
    own: frozenset[str] = frozenset()  # variables of an added function around this node
    declared: frozenset[str] = frozenset()
    loops: int = 0
    defs: int = 0
    shields: int = 0  # enclosing `with fork_rng()`

    def doubt(self, level: Level, reason: str, node: ast.AST) -> None:
        """Note one doubt."""
        self.doubts.append(Doubt(level, reason, getattr(node, "lineno", 0)))

    # --- names and what hangs on them

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.binding(node.id, node)

    def binding(self, name: str, node: ast.AST) -> None:
        """Judge that a name is bound here."""
        if name in self.own or name in self.setting.given_back:
            return
        names, old = self.setting.names, self.setting.old
        if name in self.declared:
            names = old.scope(self.setting.file, MODULE)
            if name in names.bound | names.read:
                self.doubt("certain", f"assigns the global `{name}` of the recorded code", node)
        elif self.setting.in_class:
            known = name.startswith("__") or name in old.attributes
            self.doubt("certain" if known else "maybe", f"adds `{name}` to a recorded class", node)
        elif name in names.outer or name in names.bound & self.setting.live:
            self.doubt("certain", f"assigns `{name}`, which the recorded code reads later", node)
        elif name in names.bound:
            self.doubt("maybe", f"assigns `{name}`, which the recorded code assigns too", node)
        elif name in names.read:
            self.doubt("certain", f"hides `{name}`, which the recorded code reads", node)
        elif self.setting.file in old.looks_around and not self.defs:
            self.doubt("maybe", f"adds `{name}` where the recorded code lists its own names", node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load) or self._fresh(node.value):
            return
        known = node.attr in self.setting.old.attributes or full_name(node, self.setting.imports)
        self.doubt("certain" if known else "maybe", f"sets the attribute `{ast.unparse(node)}`", node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load) and not self._fresh(node.value, strict=True):
            level: Level = "maybe" if self._fresh(node.value) else "certain"
            self.doubt(level, f"changes an element of `{ast.unparse(node.value)}`", node)
        elif isinstance(node.ctx, ast.Load) and terminal(node.value).lower().endswith(("dataset", "data_set")):
            self.doubt("maybe", f"reads an item of `{ast.unparse(node.value)}`, which may draw random numbers", node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.generic_visit(node)
        if isinstance(node.target, ast.Name) and not self._fresh(node.target) and not self.setting.summary:
            self.doubt("maybe", f"may change in place what `{node.target.id}` stands for", node)

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        if any(alias.name == "*" for alias in node.names):
            self.doubt("certain", "imports names that are not known", node)
            return
        again = self.setting.old.imports.get(self.setting.file, {}) if self.setting.at_module else {}
        for name in sorted(bound_names(node)):
            if again.get(name) != self.setting.imports.get(name, ""):
                self.binding(name, node)

    visit_ImportFrom = visit_Import  # noqa: N815

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> None:
        self.declared |= set(node.names)
        for name in node.names:
            if not self.defs and name in self.setting.names.bound | self.setting.names.read:
                self.doubt("certain", f"makes `{name}` a variable of an outer scope", node)

    visit_Nonlocal = visit_Global  # noqa: N815

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.binding(node.name, node)
        self.generic_visit(node)

    # --- calls and iteration

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        if terminal(node.func) in _CONSUMERS:
            for arg in node.args:
                self.taking(arg, by_hand=terminal(node.func) == "next")
        verdict = CallJudge(self.setting, self.own, summarize).judge(node)
        # An object of the probe's own in a list of the program's, as a callback is: replay sees if that is all.
        self.verdict(replace(verdict, level="maybe") if verdict.level and self._adds_its_own(node) else verdict, node)

        for called in _handed_over(node):
            call = ast.copy_location(ast.Call(called, [], []), node)
            self.verdict(CallJudge(self.setting, self.own, summarize).judge(call), node)

    def _adds_its_own(self, node: ast.Call) -> bool:
        """True for `callbacks.append(Norms())`, where `Norms` is added too."""
        last = node.args[-1] if node.args and isinstance(node.func, ast.Attribute) else None
        made = isinstance(last, ast.Call) and terminal(last.func) in self.setting.helpers
        return made and terminal(node.func) in ("append", "insert")

    def visit_Expr(self, node: ast.Expr) -> None:
        """A bare call of a method that is only there for its result changes something after all."""
        self.generic_visit(node)
        func = node.value.func if isinstance(node.value, ast.Call) else None
        if isinstance(func, ast.Attribute) and func.attr in _BARE and not self._fresh(func.value):
            self.doubt("certain", f"`{ast.unparse(node)}` changes `{ast.unparse(func.value)}`", node)

    def visit_Starred(self, node: ast.Starred) -> None:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            self.taking(node.value)

    def visit_Compare(self, node: ast.Compare) -> None:
        self.generic_visit(node)
        for word, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(word, ast.In | ast.NotIn):
                self.taking(right)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        if any(isinstance(target, ast.Tuple | ast.List) for target in node.targets):
            self.taking(node.value)

    def verdict(self, verdict: Verdict, node: ast.AST) -> None:
        """Note what a call does, unless a shield around it takes that back."""
        if verdict.level and not (verdict.draws and self.shields):
            self.doubt(verdict.level, verdict.reason, node)

    def taking(self, node: ast.expr, *, by_hand: bool = False) -> None:
        """Judge that something is iterated over: iterators are used up, a loader draws when a pass begins."""
        name, old = terminal(node), self.setting.old
        if not name or self._fresh(node) or (isinstance(node, ast.Name) and name in self.own):
            return
        if name in old.iterators:
            self.doubt("certain", f"takes items from `{name}`, which the recorded code takes too", node)
        elif name in old.loaders or name.lower().endswith(("loader", "_iter", "iterator")):
            reason = f"begins a pass over `{name}`, which draws a random number"
            self.verdict(Verdict("certain", reason, draws=True), node)
        elif by_hand:
            self.doubt("maybe", f"takes an item from `{name}`", node)

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        self.taking(node.iter)
        self._looping(node)

    visit_AsyncFor = visit_For  # noqa: N815

    def visit_While(self, node: ast.While) -> None:
        self._looping(node)

    def _looping(self, node: ast.AST) -> None:
        self.loops += 1
        self.generic_visit(node)
        self.loops -= 1

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self.taking(node.iter)
        for part in (node.iter, *node.ifs):
            self.visit(part)

    def visit_With(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            self.visit(item)
        paths = [full_name(getattr(item.context_expr, "func", item), self.setting.imports) for item in node.items]
        shield = any(path.endswith("fork_rng") for path in paths)
        self.shields += shield
        for statement in node.body:
            self.visit(statement)
        self.shields -= shield

    visit_AsyncWith = visit_With  # noqa: N815

    # --- the flow of control

    def visit_Break(self, node: ast.Break | ast.Continue) -> None:
        if not self.loops:
            self.doubt("certain", f"`{ast.unparse(node)}` leaves the recorded code's flow", node)

    visit_Continue = visit_Break  # noqa: N815

    def visit_Return(self, node: ast.stmt | ast.expr) -> None:
        self.generic_visit(node)
        if not self.defs:
            word = type(node).__name__.lower()
            self.doubt("certain", f"`{word}` leaves the recorded code's flow", node)

    visit_Raise = visit_Return  # noqa: N815
    visit_Yield = visit_Return  # noqa: N815
    visit_YieldFrom = visit_Return  # noqa: N815

    def visit_Assert(self, node: ast.Assert) -> None:
        self.generic_visit(node)
        self.doubt("maybe", "an `assert` may end the run", node)

    # --- definitions

    def visit_FunctionDef(self, node: Function) -> None:
        self.binding(node.name, node)
        for part in (*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.visit(part)
        self.enter(node)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def enter(self, node: Function) -> None:
        """Judge the body of a function, whose variables are its own."""
        declared = {name for part in node.body for name in declared_names(part)}
        bound = {name for part in node.body for name in bound_names(part)} | parameters(node.args)
        outside = self.setting
        fresh = (outside.fresh - bound) | fresh_names(node.body, outside.imports)
        if not outside.summary:
            fresh |= outside.defaults.get(node.name, frozenset())
        self.setting = replace(outside, fresh=fresh, own=outside.own - bound)
        self._inside(node.body, frozenset(bound - declared))
        self.setting = outside

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._inside([node.body], frozenset(parameters(node.args)))

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.binding(node.name, node)
        for part in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(part)
        outside = self.setting
        self.setting = replace(outside, fresh=outside.fresh | kept_parts(node, outside.imports))
        self._inside(node.body, frozenset(name for part in node.body for name in bound_names(part)))
        self.setting = outside

    def _inside(self, body: Iterable[ast.AST], own: frozenset[str]) -> None:
        kept = self.own, self.loops
        self.own, self.loops, self.defs = self.own | own, 0, self.defs + 1
        for part in body:
            self.visit(part)
        (self.own, self.loops), self.defs = kept, self.defs - 1

    def _fresh(self, node: ast.expr, *, strict: bool = False) -> bool:
        own_self = self.defs > 1 and not self.setting.summary  # in a class that is added as a whole
        return is_fresh(node, self.setting.fresh, self.setting.imports, strict=strict) or (
            own_self and root_name(node) == "self"
        )
