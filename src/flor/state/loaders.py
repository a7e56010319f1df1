"""The birth of DataLoader iterators: which RNG states their order of batches comes from."""

from __future__ import annotations

import functools
import random
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from flor.state import loaded
from flor.state.regions import view

States = dict[str, Any]


@dataclass(slots=True)
class Birth:
    """An iterator's loader, and the RNG states before it was made and before its first index was drawn."""

    loader: Callable[[], Any]
    before: States
    first: States | None = None


_BIRTHS: WeakKeyDictionary[Any, Birth] = WeakKeyDictionary()
_MARK = "_flor_watched"


def watch_loaders() -> bool:
    """Note each DataLoader iterator's birth from now on; False where torch.utils.data is not loaded."""
    loader = loaded.attribute("torch.utils.data.dataloader", "DataLoader")
    iterator = loaded.attribute("torch.utils.data.dataloader", "_BaseDataLoaderIter")
    if loader is None or iterator is None:
        return False
    if not hasattr(loader.__iter__, _MARK):
        loader.__iter__ = _watched_iter(loader.__iter__)
        iterator._next_index = _watched_next_index(iterator._next_index)
    return True


def _watched_iter(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @functools.wraps(original)
    def __iter__(self: Any) -> Any:  # noqa: N807 (it stands for the original)
        before = _quietly(states, self)
        iterator = original(self)
        if before is not None:
            _quietly(_register, iterator, self, before)
        return iterator

    setattr(__iter__, _MARK, True)
    return __iter__


def _watched_next_index(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @functools.wraps(original)
    def _next_index(self: Any) -> Any:
        birth = _BIRTHS.get(self)
        if birth is not None and birth.first is None:
            birth.first = _quietly(states, birth.loader())
        return original(self)

    return _next_index


def _quietly(function: Callable[..., Any], *args: Any) -> Any:
    """Training goes on if watching fails; the iterator is then refused at capture."""
    try:
        return function(*args)
    except Exception:
        return None


def _register(iterator: Any, loader: Any, before: States) -> None:
    # A loader with persistent workers holds its iterator: a strong reference back would keep both alive for ever.
    kept = weakref.ref(loader) if getattr(loader, "persistent_workers", False) else (lambda: loader)
    birth = Birth(kept, before)
    if getattr(iterator, "_num_workers", 0):
        birth.first = before  # the sampler was drawn from while the iterator was made
    _BIRTHS[iterator] = birth


def birth_of(iterator: Any) -> Birth | None:
    """What is known of an iterator; None if it was not watched or its loader is gone."""
    birth = _BIRTHS.get(iterator)
    return birth if birth is not None and birth.loader() is not None else None


def reborn(birth: Birth, taken: int) -> Any:
    """The iterator again, with as many batches behind it; leaves the RNG anywhere."""
    loader = birth.loader()
    put(birth.before, loader)
    iterator = iter(loader)
    if taken and birth.first is not None and not loader.num_workers:
        put(birth.first, loader)
    if loader.num_workers or _is_iterable(loader):
        for _ in range(taken):
            next(iterator)
    else:
        for _ in range(taken):
            iterator._next_index()
        iterator._num_yielded = taken
    _register(iterator, loader, birth.before)
    _BIRTHS[iterator].first = birth.first
    return iterator


def _is_iterable(loader: Any) -> bool:
    return isinstance(loader.dataset, loaded.torch().utils.data.IterableDataset)


def _generators(loader: Any) -> list[Any]:
    batches = getattr(loader, "batch_sampler", None)
    owners = [loader, getattr(loader, "sampler", None), batches, getattr(batches, "sampler", None)]
    found = (getattr(owner, "generator", None) for owner in owners)
    unique = {id(generator): generator for generator in found if isinstance(generator, loaded.torch().Generator)}
    return list(unique.values())


def states(loader: Any) -> States:
    """All RNG states that an order of batches may come from."""
    noted: States = {"torch": _bytes(loaded.torch().default_generator), "python": random.getstate()}
    numpy = loaded.numpy()
    if numpy is not None:
        noted["numpy"] = numpy.random.get_state(legacy=False)
    noted["generators"] = [_bytes(generator) for generator in _generators(loader)]
    return noted


def put(noted: States, loader: Any) -> None:
    """Set the RNGs to noted states."""
    torch, numpy = loaded.torch(), loaded.numpy()
    _set(torch.default_generator, noted["torch"])
    random.setstate(noted["python"])
    if numpy is not None and "numpy" in noted:
        numpy.random.set_state(noted["numpy"])
    for generator, state in zip(_generators(loader), noted["generators"], strict=False):
        _set(generator, state)


def _bytes(generator: Any) -> bytes:
    state = generator.get_state()
    return bytes(view(state.data_ptr(), state.numel()))


def _set(generator: Any, state: bytes) -> None:
    torch = loaded.torch()
    generator.set_state(torch.frombuffer(bytearray(state), dtype=torch.uint8))
