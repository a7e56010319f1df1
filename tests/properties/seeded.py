"""Bugs put into flor's own capture and restore, each with a program of the generator's that finds it."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

CARRIERS: dict[str, tuple[str, ...]] = {
    "flat": ("flat", "range", "loader", "norm", "numpy draw", "python draw", "late window", "dict order", "late view"),
    "main": ("main", "while", "permutation", "sequential", "global step", "alias", "deleted", "hidden", "generator"),
    "closure": (
        "closure",
        "range",
        "infinite",
        "class",
        "closure",
        "swap",
        "history",
        "step lr",
        "module flag",
        "plain attribute",
    ),
    "globals": ("globals", "count", "loader", "tied", "class attribute", "slots", "confusion", "freeze", "grad left"),
    "batches": ("flat", "batches", "permutation", "sequential", "own random"),
}


@dataclass(frozen=True)
class Bug:
    """What is wrong, which program shows it, and how it is put in."""

    carrier: str
    plant: Callable[[], None]


def no_fill(kind: str, when: Callable[[Any], bool] = lambda obj: True) -> Callable[[], None]:
    """Objects of a kind are not filled again."""

    def plant() -> None:
        from flor.state.kinds import HANDLERS

        handler = HANDLERS[kind]
        fill = handler.fill
        handler.fill = lambda node, obj, load: None if when(obj) else fill(node, obj, load)  # type: ignore[method-assign]

    return plant


def hidden(when: Callable[[Any, str], bool]) -> Callable[[], None]:
    """Attributes are neither saved nor changed by a restore."""

    def plant() -> None:
        from flor.state import attributes

        read, write = attributes.read, attributes.write

        def seen(obj: Any) -> dict[str, Any]:
            return {name: value for name, value in read(obj).items() if not when(obj, name)}

        def kept(obj: Any, values: Any) -> None:
            left = {name: value for name, value in read(obj).items() if when(obj, name)}
            write(obj, {**left, **values})

        attributes.read, attributes.write = seen, kept

    return plant


def _numpy_bits(obj: Any) -> bool:
    return type(obj).__name__ == "PCG64"


def _numpy_memory(region: Any) -> bool:
    return type(region.owner).__name__ == "ndarray"


def _of_optimizer(obj: Any) -> bool:
    return isinstance(obj, defaultdict) and obj.default_factory is dict


def break_aliases() -> None:
    """A list that is met twice is saved twice."""
    from flor.state.walk import Walker

    slot = Walker.slot

    def forgetful(self: Any, obj: Any) -> Any:
        if type(obj) is list:
            self._memo.pop(id(obj), None)
        return slot(self, obj)

    Walker.slot = forgetful  # type: ignore[method-assign]


def lose_order() -> None:
    """A dict that has the saved keys keeps the order it has."""
    from flor.state.handlers.mappings import DictHandler

    fill = DictHandler.fill

    def update(self: Any, node: Any, obj: Any, load: Any) -> None:
        wanted = {load(key): load(value) for key, value in zip(node.items[::2], node.items[1::2], strict=True)}
        if type(obj) is dict and set(obj) == set(wanted):
            obj.update(wanted)
        else:
            fill(self, node, obj, load)

    DictHandler.fill = update  # type: ignore[method-assign]


def lose_bound() -> None:
    """Every deque is taken for an unbounded one."""
    from flor.state.handlers import sequences

    sequences._maxlen = lambda obj: None


def prune_live() -> None:
    """Each name of the loop's function is taken for dead, and dead names are not kept."""
    from flor.launch.liveness import DeadNames

    def drop(snapshot: Any, walk: Any, scope: str, name: str, obj: Any) -> None:
        snapshot.unkept.setdefault(scope, {})[name] = "dead"

    DeadNames.__call__ = lambda self, loop, at_end: frozenset(("global_step", "hidden"))  # type: ignore[method-assign]
    sys.modules["flor.state.capture"]._try = drop  # type: ignore[attr-defined]


def keep_bound() -> None:
    """A name that was not bound stays bound."""
    sys.modules["flor.state.restore"]._gone = lambda snapshot, here, scope: set()  # type: ignore[attr-defined]


def drop_grad() -> None:
    """A parameter's gradient is not saved."""
    from flor.state.handlers.tensors import GRAD, TensorHandler

    save = TensorHandler.save

    def without(self: Any, obj: Any, walk: Any) -> Any:
        node = save(self, obj, walk)
        node.attrs = {name: slot for name, slot in node.attrs.items() if name != GRAD}
        return node

    TensorHandler.save = without  # type: ignore[method-assign]


def copy_views() -> None:
    """A tensor that is made again has memory of its own."""
    from flor.state.handlers import tensors

    looking = tensors._looking
    tensors._looking = lambda node, load: looking(node, load).clone()


def split_storage() -> None:
    """Two tensors that look into one storage are saved as if each had its own."""
    from flor.state.regions import Region

    Region.key = property(lambda self: (self.device, self.address, id(self)))  # type: ignore[assignment, method-assign]


def stay_at_start() -> None:
    """A DataLoader's iterator is made again and not moved forward."""
    from flor.state.handlers import loader_iterators

    reborn = vars(loader_iterators)["reborn"]
    vars(loader_iterators)["reborn"] = lambda birth, taken: reborn(birth, 0)


def leave_scalars() -> None:
    """Names of numbers are not rebound."""
    from flor.runtime.scopes import ScopeReader

    bind = ScopeReader.bind

    def only_objects(self: Any, caller: Any, values: Any, unbind: Any) -> None:
        left = {s: {n: v for n, v in names.items() if type(v) not in (int, float)} for s, names in values.items()}
        bind(self, caller, left, unbind)

    ScopeReader.bind = only_objects  # type: ignore[method-assign]


def skip_modules() -> None:
    """The globals of modules are not looked at."""
    from flor.runtime.scopes import ScopeReader

    ScopeReader.modules = lambda self: []  # type: ignore[method-assign]


def skip_class_attributes() -> None:
    """A class has no state."""
    from flor.state.handlers import classes

    classes.state_of = lambda cls: {}


def skip_slots() -> None:
    """Objects have no `__slots__`."""
    from flor.state import attributes

    attributes.slot_members = lambda cls: ()


def forget_item() -> None:
    """The item that the loop has just fetched is not part of the state."""
    from flor.runtime.scopes import ITEM, ScopeReader

    read = ScopeReader.read

    def without(self: Any, caller: Any, loop: Any) -> Any:
        return {scope: names for scope, names in read(self, caller, loop).items() if scope != ITEM}

    ScopeReader.read = without  # type: ignore[method-assign]


def forget_requires_grad() -> None:
    """A tensor's requires_grad stays as it is."""
    from flor.state.handlers import tensors

    geometry = tensors._geometry

    def always(tensor: Any) -> dict[str, Any]:
        return {**geometry(tensor), "requires_grad": type(tensor).__name__ == "Parameter"}

    tensors._geometry = always


BUGS: dict[str, Bug] = {
    "torch's generator is not restored": Bug("flat", no_fill("torch-generator")),
    "python's generator is not restored": Bug("flat", no_fill("random")),
    "numpy's generator is not restored": Bug("flat", no_fill("numpy-random")),
    "a numpy Generator is not restored": Bug("main", no_fill("numpy-random", _numpy_bits)),
    "numpy's memory is not restored": Bug("globals", no_fill("memory", _numpy_memory)),
    "aliases are broken": Bug("main", break_aliases),
    "an optimizer's state is left out": Bug("flat", no_fill("dict", _of_optimizer)),
    "buffers are left out": Bug("flat", hidden(lambda obj, name: name == "_buffers")),
    "the training flag is not restored": Bug("closure", hidden(lambda obj, name: name == "training")),
    "plain attributes of a module are left out": Bug("closure", hidden(lambda obj, name: name == "note")),
    "a scheduler's place is left out": Bug("closure", hidden(lambda obj, name: name == "last_epoch")),
    "the order of a dict is lost": Bug("flat", lose_order),
    "the bound of a deque is lost": Bug("flat", lose_bound),
    "the contents of cells are skipped": Bug("closure", no_fill("cell")),
    "live names are pruned": Bug("main", prune_live),
    "unbound names are left bound": Bug("main", keep_bound),
    "gradients are dropped": Bug("globals", drop_grad),
    "a view is made again as a copy": Bug("flat", copy_views),
    "shared storage is split": Bug("flat", split_storage),
    "a loader's iterator is not moved forward": Bug("closure", stay_at_start),
    "scalars are not rebound": Bug("main", leave_scalars),
    "globals of modules are skipped": Bug("globals", skip_modules),
    "class attributes are skipped": Bug("globals", skip_class_attributes),
    "slots are skipped": Bug("globals", skip_slots),
    "the item of the loop is not restored": Bug("batches", forget_item),
    "requires_grad is not restored": Bug("globals", forget_requires_grad),
}
