"""What a snapshot asks for that a restore does not do: decided before anything is made or changed.

A snapshot comes from a store, and a store is data. Each node is of the kind that flor itself gives to objects of its
class, code is found among what this process has imported and is not of the kind that reaches outside, and only the
project's own classes and functions are written to.
"""

from __future__ import annotations

import enum
import json
import os
import re
import stat
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from flor.state import loaded
from flor.state.handler import MISSING
from flor.state.handlers.classes import is_code
from flor.state.handlers.objects import SHARED
from flor.state.handlers.reduced import maker_class
from flor.state.kinds import choose
from flor.state.makers import NOT_CALLED, denied, finalizer, maker_reason, sets_state, state_reason
from flor.state.names import is_named, lookup, name_of, type_name
from flor.state.snapshot import Node, Ref, Slot, Snapshot
from flor.state.standins import original

_MADE = frozenset(
    [
        "object",
        "dict",
        "list",
        "set",
        "frozenset",
        "tuple",
        "deque",
        "buffer",
        "random",
        "thread-local",
        "numpy-random",
        "tensor",
        "reduced",
        "memory-file",
        "foreign",
        "message",
    ]
)
"""Kinds whose nodes say of which class the new object is."""

STEERING = re.compile(
    r"(LD_|DYLD_|GCONV|PYTHON|PERL|RUBY|NODE_|JAVA|GIT_|BASH_|GLIBC|MALLOC|SSL_|NLSPATH|LOCPATH|LESS|XDG_)"
    r"|(PATH|ENV|IFS|SHELL|HOME|PAGER|EDITOR|VISUAL|BROWSER|SHELLOPTS|TERMINFO|TMPDIR|HOSTALIASES)$"
    r"|.*(_PATH|_COMMAND|_EDITOR|_PAGER|_PRELOAD|_LIBRARY|_EXE|_BIN|_PROXY|_HOOK|_PLUGINS?|_STARTUP)$",
    re.IGNORECASE,
)
"""Environment variables that decide which programs or libraries are loaded, by this process or by its children."""


class Trust:
    """The judgement on the nodes of one snapshot, given the live objects that some of them have."""

    def __init__(self, snapshot: Snapshot, live: dict[int, Any], project: Callable[[str], bool]) -> None:
        self.snapshot, self.live = snapshot, live
        self._project = project

    def project(self, module: object) -> bool:
        """True if the module is the user's."""
        return isinstance(module, str) and bool(self._project(module))

    def refused(self) -> Iterator[tuple[int, str]]:
        """The nodes that are not put in place, with the reason."""
        for number, node in enumerate(self.snapshot.nodes):
            obj = self.live.get(number, MISSING)
            reason = self._new(node) if obj is MISSING else self._in_place(node, obj)
            if reason:
                yield number, reason

    # -- objects that are there -----------------------------------------------------------------------

    def _in_place(self, node: Node, obj: Any) -> str:
        if node.kind == "class":
            return self._class_state(node, obj)
        if node.kind == "function" and (node.attrs or node.items):
            own = self.project(obj.__module__) or not is_named(obj)
            return "" if own else "a function of a library is not changed"
        if node.kind == "object":
            return self._shared(node)
        if node.kind == "module":
            return _made_module(node, obj)
        if node.kind == "cache" and len(node.items) + len(node.attrs):
            own = self.project(name_of(obj).partition(":")[0]) or not is_named(obj)
            return "" if own else "what a library has cached is not changed"
        return _setting(node)

    def _class_state(self, node: Node, cls: Any) -> str:
        if not node.attrs:
            return ""
        if not self.project(cls.__module__):
            return "a class of a library is not changed"
        odd = next((name for name in node.attrs if name.startswith("_abc_") or is_code(cls, name)), None)
        return f"its {odd} is code" if odd is not None else ""

    def _shared(self, node: Node) -> str:
        slot = node.attrs.get(SHARED)
        if slot is None or (type(slot) is Ref and self.snapshot.nodes[slot].kind == "object"):
            return ""
        return "its attributes would be those of something that is no such object"

    # -- objects that are made ------------------------------------------------------------------------

    def _new(self, node: Node) -> str:
        if node.kind in _MADE:
            return self._instance(node)
        check = getattr(self, f"_new_{node.kind.replace('-', '_')}", None)
        return _setting(node) if check is None else str(check(node))

    def _instance(self, node: Node) -> str:
        if node.kind == "reduced" and "global" in node.meta:
            return self._global(node)
        cls = self.class_of(node)
        if not isinstance(cls, type):
            return self._reduced(node, None) if node.kind == "reduced" else "this process has no such class"
        unbegun = node.kind == "object" and cls.__module__ == "threading"  # a thread that was not started is data
        if choose(cls, self.project) != node.kind and not unbegun:
            return f"objects of {name_of(cls).replace(':', '.')} are not saved in this way"
        if finalizer(cls, self.project):
            return f"a {name_of(cls).replace(':', '.')} acts when it goes away"
        if node.kind == "object":
            return self._shared(node)
        return self._reduced(node, cls) if node.kind == "reduced" else ""

    def class_of(self, node: Node) -> Any:
        """The class that a node names, as it is found in this process."""
        slot = node.attrs.get("__class__")
        return lookup(node.cls) if slot is None else self.code(slot)

    def code(self, slot: Slot) -> Any:
        """The class or function that a slot refers to; None if it is none that is found by name."""
        if type(slot) is not Ref:
            return None
        node = self.snapshot.nodes[slot]
        if int(slot) in self.live:
            return original(self.live[int(slot)])
        if node.kind in ("class", "function", "builtin", "reduced") and isinstance(node.meta, dict):
            return lookup(str(node.meta.get("name") or node.meta.get("global") or ""))
        return None

    def _global(self, node: Node) -> str:
        found = lookup(str(node.meta["global"]))
        if found is None or type_name(found) != node.cls:
            return f"this process has no such {node.cls.replace(':', '.')}"
        return self._by_name(str(node.meta["global"]), found)

    def _reduced(self, node: Node, named: type | None) -> str:
        """What can be told of its maker now; it is asked again with its true arguments when it is called."""
        count, maker = node.meta["args"], self.code(node.items[0])
        cls = maker_class(node, maker, named)
        if isinstance(maker, type | types.FunctionType | types.BuiltinFunctionType):
            reason = maker_reason(maker, [self._known(slot) for slot in node.items[1 : 1 + count]], cls, self.project)
            if reason.endswith(NOT_CALLED) and cls is not None:
                return reason
        if cls is None:
            return ""
        state = node.items[1 + count]
        filled = node.meta["items"] or node.meta["pairs"] or (state is not None and sets_state(cls))
        return state_reason(cls, self.project) if filled else ""

    def _known(self, slot: Slot) -> Any:
        return self.code(slot) if type(slot) is Ref else slot

    def _by_name(self, name: str, found: Any) -> str:
        if denied(name, original(found), self.project):
            return f"{name.replace(':', '.')} reaches outside of the program and is not handed out by name"
        return ""

    def _new_class(self, node: Node) -> str:
        name = str(node.meta["name"])
        found = lookup(name)
        if not isinstance(found, type) or name_of(found) != name:
            return "this process has no such class"
        return self._by_name(name, found) or self._class_state(node, found)

    def _new_function(self, node: Node) -> str:
        name = str(node.meta["name"] if node.meta["named"] else node.meta.get("code", ""))
        found = lookup(name.partition(".<locals>")[0])
        if found is None:
            return ""  # the handler says what is lacking
        reason = self._by_name(name, found)
        own = self.project(name.partition(":")[0]) or not node.meta["named"]
        return reason or ("" if own or not (node.attrs or node.items) else "a function of a library is not changed")

    def _new_builtin(self, node: Node) -> str:
        if node.items:
            return ""
        return self._by_name(str(node.meta["name"]), lookup(str(node.meta["name"])))

    def _new_cache(self, node: Node) -> str:
        name = str(node.meta["name"])
        own = self.project(name.partition(":")[0])
        return self._by_name(name, lookup(name)) or ("" if own or "hits" not in node.meta else "it is a library's")

    def _new_module(self, node: Node) -> str:
        name = str(node.meta["name"])
        if "made" in node.meta:
            return _made_module(node, None)
        return self._by_name(f"{name}:", lookup(f"{name}:"))

    def _new_enum(self, node: Node) -> str:
        cls = self.class_of(node)
        return "" if isinstance(cls, enum.EnumMeta) else "it is no member of an enumeration of this process"

    def _new_memmap(self, node: Node) -> str:
        try:
            regular = stat.S_ISREG(os.stat(str(node.items[0])).st_mode)
        except OSError:
            regular = False
        return "" if regular else "the file that it mapped is not there"

    def _new_loader_iterator(self, node: Node) -> str:
        slot = node.items[0]
        number = int(slot) if type(slot) is Ref else -1
        known = number in self.live
        cls = type(self.live[number]) if known else self.class_of(self.snapshot.nodes[number]) if number >= 0 else None
        loader = loaded.attribute("torch.utils.data.dataloader", "DataLoader")
        fits = isinstance(cls, type) and loader is not None and issubclass(cls, loader)
        return "" if fits and type(node.meta["taken"]) is int else "it is not the iterator of a DataLoader"


def _made_module(node: Node, module: Any) -> str:
    """Why the names of a module are not rewritten: only one that the script has made itself has state."""
    if "made" not in node.meta:
        return ""
    odd = next((name for name in node.attrs if name.startswith("__")), None)
    if odd is not None:
        return f"its {odd} is the interpreter's"
    imported = module is not None and (vars(module).get("__spec__") is not None or module in sys.modules.values())
    return "the names of a module that was imported are not changed" if imported else ""


def _setting(node: Node) -> str:
    """Why the settings of a node are not put back."""
    if node.kind == "surroundings":
        names = json.loads(node.attrs["environment"])
        odd = next(
            (name for name, value in names.items() if STEERING.match(name) and os.environ.get(name) != value), ""
        )
        return f"it would set {odd}, which decides what programs are run" if odd else ""
    return ""
