"""What one call in an added statement may do to training."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace

from flor.model.edits import Level
from flor.source.fresh import is_fresh, root_name
from flor.source.known import (
    HARMLESS,
    Verdict,
    casts_in_place,
    is_in_place,
    is_mode_switch,
    is_mutator,
    judge_builtin,
    judge_dotted,
    judge_method,
)
from flor.source.logcalls import dotted, full_name, kind_of_call
from flor.source.oldcode import terminal
from flor.source.ownership import Ownership
from flor.source.setting import Setting

_BARS = ("bar", "tqdm", "progress")


@dataclass(frozen=True)
class CallJudge:
    """Judges calls in one place; `own` are the variables of an added function around it."""

    setting: Setting
    own: frozenset[str]
    summarize: Callable[[str, Setting], Verdict]

    def judge(self, call: ast.Call) -> Verdict:
        """The verdict on a call, its arguments apart."""
        imports = self.setting.imports
        for keyword in call.keywords:
            if keyword.arg == "out" and not is_fresh(keyword.value, self.setting.fresh, imports, strict=True):
                return Verdict("certain", f"writes its result into `{ast.unparse(keyword.value)}`")
            if keyword.arg == "generator" and self.setting.is_new(root_name(keyword.value)):
                return HARMLESS
        kind = kind_of_call(call, imports)
        if kind == "file" or terminal(call.func) == "open":
            return self._file(call)
        if kind:
            return HARMLESS
        if path := full_name(call.func, imports):
            return self._imported(path)
        if isinstance(call.func, ast.Name):
            return self._name(call.func.id)
        if not isinstance(call.func, ast.Attribute):
            return self._value(call.func)
        verdict = self._method(call.func)
        # Of an object of its own a probe may change what it likes; that this is all, replay sees.
        return replace(verdict, level="maybe") if verdict.level and self._is_own(call.func.value) else verdict

    def _is_own(self, node: ast.expr) -> bool:
        setting = self.setting
        root = root_name(node)
        judge = Ownership(setting.imports, setting.helpers, setting.old.calm, setting.own)
        return root in setting.own and setting.is_new(root) and judge.of(node)

    def _imported(self, path: str) -> Verdict:
        """A function of a module: of the project, or one that is known or not."""
        name, old = path.rpartition(".")[2], self.setting.old
        if path.partition(".")[0] in old.modules and name in old.functions:
            return self.summarize(name, self.setting)
        if name in self.setting.helpers:
            return HARMLESS
        if path.partition(".")[0] in self.setting.put_back and ("random" in path or judge_dotted(path) is not HARMLESS):
            return HARMLESS
        return judge_dotted(path) or Verdict("maybe", f"calls {path}(), which is not known to be harmless")

    def _name(self, name: str) -> Verdict:
        """A plain name: an added helper, a function of the project, a builtin, or a variable."""
        setting = self.setting
        if name in setting.helpers or name == "next":  # what `next` takes from is judged as iteration
            return HARMLESS
        if name in setting.old.functions and name not in self.own:
            return self.summarize(name, setting)
        if name in setting.old.calm or (name in setting.fresh and setting.is_new(name)):
            return HARMLESS
        builtin = None if name in self.own or name in setting.names.bound else judge_builtin(name)
        return builtin or Verdict("maybe", f"calls {name}(), which may change state or draw random numbers")

    def _method(self, func: ast.Attribute) -> Verdict:
        """A method: known by its name, defined in the project, or called on an object of the probe's own."""
        name, receiver, setting = func.attr, ast.unparse(func.value), self.setting
        known = self._ambiguous(func) or judge_method(name)
        if is_mode_switch(name):
            back = setting.summary or receiver in setting.switched_back
            return Verdict("maybe" if back else "certain", f"{receiver}.{name}() switches the mode of a module")
        fresh = is_fresh(func.value, setting.fresh, setting.imports)
        if known is not None and known.level and not (fresh and name.endswith("seed")):
            return known
        if self._changes(func):
            bar = any(word in receiver.lower() for word in _BARS)
            return Verdict("maybe" if bar else "certain", f"{receiver}.{name}() changes `{receiver}`")
        if name in setting.old.functions and name not in setting.helpers:
            found = self.summarize(name, setting)
            return Verdict("maybe", found.reason) if found.level and known is HARMLESS else found
        if known is not None or fresh or name in setting.helpers or name in setting.old.calm:
            return HARMLESS
        return Verdict("maybe", f"calls {receiver}.{name}(), which is not known to be harmless")

    def _ambiguous(self, func: ast.Attribute) -> Verdict | None:
        """Methods that compute on tensors and change other objects: `.add()` a set, `.half()` a module."""
        receiver = ast.unparse(func.value)
        if func.attr == "add" and terminal(func.value) in self.setting.old.sets:
            return Verdict("certain", f"{receiver}.add() changes `{receiver}`")
        inner = func.value
        while isinstance(inner, ast.Subscript):
            inner = inner.value
        if casts_in_place(func.attr, terminal(inner)) and self.setting.old.nets & set(dotted(inner).split(".")):
            return Verdict("maybe", f"{receiver}.{func.attr}() may change a module")
        return None

    def _changes(self, func: ast.Attribute) -> bool:
        """True if the method changes an object that is not the probe's own."""
        in_place = is_in_place(func.attr)
        if not in_place and not is_mutator(func.attr):
            return False
        return not is_fresh(func.value, self.setting.fresh, self.setting.imports, strict=in_place)

    def _value(self, func: ast.expr) -> Verdict:
        """What is called is itself computed: a layer made on the spot, an item of a module."""
        if isinstance(func, ast.Lambda):
            return HARMLESS
        path = full_name(func.func, self.setting.imports) if isinstance(func, ast.Call) else ""
        if path.startswith("torch.nn.") and judge_dotted(path) is HARMLESS:
            return HARMLESS
        return Verdict("maybe", f"calls {ast.unparse(func)}(), which may change state or draw random numbers")

    def _file(self, call: ast.Call) -> Verdict:
        """A write to a file: to one of the recorded script's own it is a change."""
        if terminal(call.func) == "open" and not opens_to_write(call):
            return HARMLESS
        texts = [part.value for arg in call.args for part in ast.walk(arg) if isinstance(part, ast.Constant)]
        paths = [text for text in texts if isinstance(text, str) and ("." in text or "/" in text)]
        old = next((path for path in paths if path in self.setting.old.strings), None)
        if old is not None:
            # What the script's own function for logs adds to its log file, a replay keeps in a file of its own.
            level: Level = "maybe" if self.setting.summary and _appends(call) else "certain"
            return Verdict(level, f"writes `{old}`, a file that the recorded code names")
        handle = root_name(call.func) if isinstance(call.func, ast.Attribute) else ""
        known = handle in self.setting.names.bound and handle not in self.setting.imports
        return Verdict("maybe", f"writes to `{handle}`, which the recorded code has open") if known else HARMLESS


def _appends(call: ast.Call) -> bool:
    given = [*call.args, *(part.value for part in call.keywords)]
    return any(isinstance(part, ast.Constant) and part.value in ("a", "at", "ab", "a+") for part in given)


def opens_to_write(call: ast.Call) -> bool:
    """True if the mode of an `open` says so; of `Path.open` the mode comes first."""
    given = [*call.args[:2], *(part.value for part in call.keywords if part.arg == "mode")]
    modes = [part.value for part in given if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    return any(set(mode) <= set("rwaxbt+") and set(mode) & set("wax+") for mode in modes)
