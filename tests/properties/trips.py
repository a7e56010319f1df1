"""What becomes of each kind of object of `holders.ideas` in a checkpoint: changed, captured, and restored elsewhere.

As a script it prints `{name: verdict}` for the names that it is given, or for all. It runs the texts of the ideas in
its own process, so tests run it in another one.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import types
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent))

from holders import HOLDERS, Holder

from flor.errors import RestoreMismatch
from flor.launch.handles import ReadLater
from flor.state import Snapshot, capture, decode, encode, restore, watch_loaders

KEPT, EXECUTED, READ, WRONG = "kept", "executed", "executed where it is read", "WRONG"
ON_DISK = ("file that is written", "file that is read and written", "shelve")
"""What is in files is put back by another part of flor; `holders.py` judges these."""

PROJECT = "held_project"


def is_project(module: str) -> bool:
    """True for the module that the texts run in."""
    return module == PROJECT


def verdict(holder: Holder) -> str:
    """Captured after three epochs, restored into a program that has come to its first: does it show the same?"""
    recorded = _begun(holder)
    _run(holder, recorded, 3)
    snapshot = capture({"main": _names(recorded)}, project=is_project)
    if snapshot.refusals:
        return EXECUTED
    saved = _through_bytes(snapshot)
    wanted = _shown(holder, recorded)
    here = _begun(holder)
    _run(holder, here, 1)
    try:
        values = restore(saved, {"main": _names(here)}, project=is_project)
    except RestoreMismatch:
        return EXECUTED
    vars(here).update(values.values["main"])
    if snapshot.unaccounted or ReadLater({"train.py": f"{holder.top}\n{holder.setup}"}).descriptors():
        return READ
    return KEPT if _shown(holder, here) == wanted or values.doubts else WRONG


def _begun(holder: Holder) -> types.ModuleType:
    random.seed(1)
    module = types.ModuleType(PROJECT)
    sys.modules[PROJECT] = module
    exec(compile(f"{holder.top}\n{holder.setup}", PROJECT, "exec"), vars(module))
    return module


def _run(holder: Holder, module: types.ModuleType, epochs: int) -> None:
    for epoch in range(epochs):
        for i in range(3):
            vars(module).update(epoch=epoch, i=i)
            exec(compile(holder.inner, PROJECT, "exec"), vars(module))


def _names(module: types.ModuleType) -> dict[str, Any]:
    return {name: value for name, value in vars(module).items() if not name.startswith("__")}


def _shown(holder: Holder, module: types.ModuleType) -> str:
    return repr(eval(holder.read, vars(module)))


def _through_bytes(snapshot: Snapshot) -> Snapshot:
    graph, blobs = encode(snapshot)
    stored = {blob.name: bytes(blob.data) for blob in blobs if blob.data is not None}
    return decode(graph, lambda name: memoryview(stored[name]))


def verdicts(names: list[str]) -> dict[str, str]:
    """Those of some kinds, in a folder of their own."""
    import torch  # noqa: F401

    watch_loaders()
    os.chdir(tempfile.mkdtemp())
    return {name: verdict(HOLDERS[name]) for name in names if name not in ON_DISK}


def main(words: list[str]) -> None:
    """Judge, and print."""
    found = verdicts(words or list(HOLDERS))
    sys.__stdout__.write(json.dumps(found) + "\n")  # type: ignore[union-attr]


if __name__ == "__main__":
    main(sys.argv[1:])
