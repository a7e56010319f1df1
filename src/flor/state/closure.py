"""Library knowledge: optimizer => parameters => the modules that own them, wherever they live."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from flor.state import loaded
from flor.state.barrier import is_hooked
from flor.state.memory import Memory
from flor.state.regions import owner_id

if TYPE_CHECKING:
    from flor.state.walk import Walker


def _of(objects: Iterable[Any], cls: type) -> list[Any]:
    return [obj for obj in objects if issubclass(type(obj), cls)]


def parameters_of(optimizer: Any) -> Iterator[Any]:
    """The tensors that an optimizer steps, by its param groups alone."""
    groups = object.__getattribute__(optimizer, "__dict__").get("param_groups", ())
    for group in groups:
        yield from (p for p in group.get("params", ()) if isinstance(p, loaded.torch().Tensor))


@dataclass
class Moving:
    """Memory that some optimizer changes, whatever its version counters say: parameters, state and gradients."""

    regions: set[Hashable] = field(default_factory=set)
    stepped: dict[Hashable, list[Any]] = field(default_factory=dict)  # changed by steps that run hooks, not otherwise

    def add(self, tensors: Iterable[Any], *, at_steps: bool) -> None:
        """Some tensors that move."""
        for tensor in tensors:
            if tensor.layout is loaded.torch().strided and tensor.device.type != "meta":
                key = _key(tensor)
                self.regions.add(key)
                if at_steps and not tensor.is_inference():
                    self.stepped.setdefault(key, []).append(tensor)


def moving_regions(walk: Walker) -> Moving:
    """What the optimizers that were met move."""
    torch = loaded.torch()
    optim = loaded.attribute("torch.optim.optimizer", "Optimizer")
    moving, others = Moving(), Moving()
    if torch is None or optim is None:
        return moving
    for optimizer in _of(walk.objects, optim):
        state = object.__getattribute__(optimizer, "__dict__").get("state", {})
        stepped = list(parameters_of(optimizer))
        hooked = is_hooked(optimizer)
        moved = [*stepped, *_inside(list(dict.values(state)), torch.Tensor)]
        (moving if hooked else others).add(moved, at_steps=hooked)
        others.add([p.grad for p in stepped if p.is_leaf and p.grad is not None], at_steps=False)
    moving.regions |= others.regions
    for key in others.regions & moving.stepped.keys():
        del moving.stepped[key]
    return moving


def _inside(values: list[Any], kind: type, depth: int = 3) -> Iterator[Any]:
    for value in values:
        if isinstance(value, kind):
            yield value
        elif depth and type(value) in (dict, list, tuple):
            yield from _inside(list(value.values() if type(value) is dict else value), kind, depth - 1)


def _key(tensor: Any) -> Hashable:
    storage = tensor.untyped_storage()
    return (str(tensor.device), storage.data_ptr()) if storage.nbytes() else ("empty", owner_id(storage))


def hidden_owners(walk: Walker, memory: Memory) -> list[tuple[str, Any]]:
    """Modules that own an optimizer's parameters and were not reached; named in order of the parameters."""
    optim = loaded.attribute("torch.optim.optimizer", "Optimizer")
    torch = loaded.torch()
    if torch is None or optim is None:
        return []
    owned = {id(p) for module in _of(walk.objects, torch.nn.Module) for p in _own_parameters(module)}
    stepped = [p for optimizer in _of(walk.objects, optim) for p in parameters_of(optimizer)]
    unowned = {id(p): p for p in stepped if id(p) not in owned and not memory.is_ownerless(p)}
    found = owners(unowned) if unowned else []
    for key in unowned.keys() - {id(p) for _, held in found for p in held}:
        memory.ownerless[key] = weakref.ref(unowned[key])
    return [(f"owner{number}", module) for number, (module, _) in enumerate(found)]


def owners(parameters: dict[int, Any]) -> list[tuple[Any, list[Any]]]:
    """The outermost modules that hold these parameters, each with those it holds; a search through all objects."""
    torch = loaded.torch()
    modules = [obj for obj in gc.get_objects() if issubclass(type(obj), torch.nn.Module)]
    parents = {id(child): module for module in modules for child in _children(module)}
    holders = {id(p): module for module in modules for p in _own_parameters(module) if id(p) in parameters}
    found: dict[int, tuple[Any, list[Any]]] = {}
    for key, parameter in parameters.items():
        if key in holders:
            top = _top(holders[key], parents)
            found.setdefault(id(top), (top, []))[1].append(parameter)
    return list(found.values())


def _top(module: Any, parents: dict[int, Any]) -> Any:
    climbed = {id(module)}
    while id(module) in parents and id(parents[id(module)]) not in climbed:
        module = parents[id(module)]
        climbed.add(id(module))
    return module


def _own_parameters(module: Any) -> list[Any]:
    own = object.__getattribute__(module, "__dict__").get("_parameters") or {}
    return [p for p in own.values() if p is not None] if isinstance(own, dict) else []


def _children(module: Any) -> list[Any]:
    own = object.__getattribute__(module, "__dict__").get("_modules") or {}
    return [child for child in own.values() if child is not None] if isinstance(own, dict) else []
