"""The conditions under which a run began, given to a process that runs it again."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from flor.launch.facts import KEPT_VARIABLES
from flor.launch.randomness import set_numpy_state, set_random_state
from flor.model.trackers import CHILDREN
from flor.query.runs import Run
from flor.runtime.imports import ImportWatch

BEFORE = "FLOR_TRACKER_VARIABLES"


def command(module: str, *words: str) -> list[str]:
    """How to start a module of ours without the current folder on the path: its modules must not shadow ours."""
    begin = "import sys; sys.flags.safe_path or sys.path.pop(0)"
    return [sys.executable, "-c", f"{begin}; from {module} import main; main()", *words]


def environment(run: Run) -> dict[str, str]:
    """This environment, with what changes results as it was recorded."""
    facts = run.facts
    replaced = {*KEPT_VARIABLES} - {"PYTHONPATH"}  # by that one, this Python may find flor
    values = {name: value for name, value in os.environ.items() if name not in replaced}
    recorded = facts.get("variables", {})  # from the store: only those that flor itself keeps are taken from it
    values.update({name: str(recorded[name]) for name in replaced if name in recorded})
    if facts.get("hash_seed"):
        values["PYTHONHASHSEED"] = str(facts["hash_seed"])
    values.pop("FLOR_STORE", None)
    return values


def silent_for_children(values: Mapping[str, str]) -> dict[str, str]:
    """The environment in which trackers are silent in programs that the script starts; it also says what was there."""
    return {**values, **CHILDREN, BEFORE: json.dumps({name: values[name] for name in CHILDREN if name in values})}


def hide_from_script() -> None:
    """Let `os.environ` show what was there before; C code, and programs that are started, see the other values."""
    before = json.loads(os.environ.pop(BEFORE, "{}"))
    shown: Any = os.environ
    for name in CHILDREN:
        if name in before:
            shown._data[shown.encodekey(name)] = shown.encodevalue(before[name])
        else:
            shown._data.pop(shown.encodekey(name), None)


def threads(run: Run) -> int:
    """How many threads torch had for one operation when the run was recorded."""
    return max(1, next((int(note.values["threads"]) for note in run.notes if note.kind == "torch"), 1))


def begin_as_recorded(run: Run, imports: ImportWatch) -> None:
    """The random states that the run began with, and its thread counts."""
    facts = run.facts
    if "PYTHONHASHSEED" not in facts["variables"]:
        os.environ.pop("PYTHONHASHSEED", None)  # it was for the interpreter; the script never saw it
    if facts.get("random"):
        set_random_state(facts["random"])
    for note in run.notes:
        if note.kind == "numpy":
            imports.when("numpy", lambda numpy, then=note.values: set_numpy_state(numpy, then["random"]))  # type: ignore[misc]
        elif note.kind == "torch":
            imports.when("torch", lambda torch, then=note.values: _torch_as_then(torch, then))  # type: ignore[misc]


def _torch_as_then(torch: ModuleType, then: Mapping[str, Any]) -> None:
    """Its thread count, since another one changes last digits, and the seed that an unseeded script began with."""
    if torch.get_num_threads() != then["threads"]:
        torch.set_num_threads(int(then["threads"]))
    torch.default_generator.manual_seed(int(then["initial_seed"]))  # not torch.manual_seed: that wakes devices
