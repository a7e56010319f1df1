"""Calls that reach files past Python, in C++ or Rust: which, and where their path is."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from flor.launch.overlay.patches import Patches

READ = os.O_RDONLY
WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
UPDATE = os.O_RDWR | os.O_CREAT

Placing = Callable[[Any, int], Any]
"""Path as the script gave it, flags -> path to hand on."""


@dataclass(frozen=True, slots=True)
class ForeignCall:
    """A function of a library that opens a path itself; `owner` is its module, or a class in it after a colon."""

    owner: str
    name: str
    position: int
    keyword: str
    flags: int


CALLS = (
    ForeignCall("torch", "save", 1, "f", WRITE),
    ForeignCall("torch", "load", 0, "f", READ),
    ForeignCall("torch", "from_file", 0, "filename", UPDATE),
    ForeignCall("torch.jit", "save", 1, "f", WRITE),
    ForeignCall("torch.jit", "load", 0, "f", READ),
    ForeignCall("torch.jit._script:RecursiveScriptModule", "save", 1, "f", WRITE),
    ForeignCall("torch.jit._script:ScriptModule", "save", 1, "f", WRITE),
    ForeignCall("torch._C:ScriptFunction", "save", 1, "filename", WRITE),
    ForeignCall("torch.autograd.profiler:profile", "export_chrome_trace", 1, "path", WRITE),
    ForeignCall("safetensors", "serialize_file", 1, "filename", WRITE),
    ForeignCall("safetensors", "safe_open", 0, "filename", READ),
    ForeignCall("cv2", "imwrite", 0, "filename", WRITE),
    ForeignCall("cv2", "imread", 0, "filename", READ),
)
CLASSES = (("torch._C", "PyTorchFileWriter", WRITE), ("torch._C", "PyTorchFileReader", READ))
LIBRARIES = frozenset(call.owner.partition(".")[0] for call in CALLS)


def patch(library: str, patches: Patches, placing: Placing, *, only_writes: bool = False) -> None:
    """Let every such call of an imported library ask for its path first; or only the functions that write."""
    for call in CALLS:
        if call.owner.partition(".")[0] == library and (call.flags or not only_writes):
            _patch_call(call, patches, placing)
    for module, name, flags in () if only_writes else CLASSES:
        owner = sys.modules.get(module)
        if module.partition(".")[0] == library and owner is not None and hasattr(owner, name):
            patches.swap(owner, name, _subclass(getattr(owner, name), flags, placing))


def _patch_call(call: ForeignCall, patches: Patches, placing: Placing) -> None:
    module_name, _, inside = call.owner.partition(":")
    module = sys.modules.get(module_name)
    owner = getattr(module, inside, None) if inside else module
    if owner is None or call.name not in vars(owner):
        return
    replaced = _asking(vars(owner)[call.name], call, placing)
    if isinstance(owner, ModuleType):
        patches.function(owner, call.name, replaced)
    else:
        patches.attribute(owner, call.name, replaced)


def _asking(original: Any, call: ForeignCall, placing: Placing) -> Any:
    def ask(*args: Any, **options: Any) -> Any:
        if call.keyword in options:
            options[call.keyword] = _placed(options[call.keyword], call.flags, placing)
        elif len(args) > call.position:
            path = _placed(args[call.position], call.flags, placing)
            args = (*args[: call.position], path, *args[call.position + 1 :])
        return original(*args, **options)

    return ask


def _subclass(original: type, flags: int, placing: Placing) -> type:
    def __init__(self: Any, name: Any, *rest: Any, **options: Any) -> None:  # noqa: N807
        original.__init__(self, _placed(name, flags, placing), *rest, **options)  # type: ignore[misc]

    namespace = {"__init__": __init__, "__module__": original.__module__, "__doc__": original.__doc__}
    return type(original.__name__, (original,), namespace)


def _placed(path: Any, flags: int, placing: Placing) -> Any:
    return placing(path, flags) if isinstance(path, (str, bytes, os.PathLike)) else path
