"""functools.lru_cache and cache: what was kept, in the order of its use, and the counts of hits and misses.

The wrapper is C code without a way to put an entry in but by a call. So its function is exchanged for one that
returns what is to be kept, while it is called with the arguments of each entry. Where its fields lie in memory is
found by what they hold, and the handler refuses where that is not sure.
"""

from __future__ import annotations

import ctypes
import functools
import gc
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from flor.state import attributes
from flor.state.handler import MISSING, Handler, Load, Refused, Walk
from flor.state.names import is_named, lookup, name_of, type_name
from flor.state.snapshot import Node, Slot

_WORD = ctypes.sizeof(ctypes.c_ssize_t)
_SEARCHED = 24  # words of the wrapper in which its fields are looked for
_WRAPPER = type(functools.lru_cache(lambda: None))


class Inside(NamedTuple):
    """The fields of a wrapper."""

    entries: list[tuple[Any, Any]]  # key and result, the least recently used first
    function: Any
    mark: Any  # stands between positional arguments and keywords in a key
    typed: bool
    at: int  # the address of the field with the dict


def inside(cache: Any) -> Inside:
    """The fields, found by their order among the referents and in memory."""
    found = gc.get_referents(cache)
    if found and found[0] is _WRAPPER:
        del found[0]
    entries = []
    while len(found) > 2 and isinstance(found[2], type) and found[2].__name__ == "_lru_list_elem":
        entries.append((found[0], found[1]))
        del found[:3]
    if len(found) < 3 or type(found[0]) is not dict:
        raise Refused("the entries of the cache are not found")
    kept, function, mark = found[:3]
    at = next((at for at in range(2, _SEARCHED) if _fits(cache, at, kept, function, mark)), 0)
    if not at:
        raise Refused("the entries of the cache are not found")
    address = id(cache) + at * _WORD
    bounded = _word(address + 3 * _WORD) > 0
    typed = ctypes.c_int.from_address(address - _WORD).value != 0
    return Inside(entries if bounded else list(kept.items()), function, mark, typed, address)


def _fits(cache: Any, at: int, kept: Any, function: Any, mark: Any) -> bool:
    """True if the fields dict, hits, function, maxsize, misses, mark begin at this word."""
    words = [_word(id(cache) + (at + n) * _WORD) for n in range(6)]
    info = _WRAPPER.cache_info(cache)
    size = -1 if info.maxsize is None else info.maxsize
    return words == [id(kept), info.hits, id(function), size, info.misses, id(mark)]


def _word(address: int) -> int:
    return ctypes.c_ssize_t.from_address(address).value


class CacheHandler(Handler):
    """A cached function. One of a library's that has a name there is found by it, and its entries are its own."""

    kind = "cache"
    rank = 3

    def save(self, obj: Any, walk: Walk) -> Node:
        """The function, the entries and the counts."""
        named = is_named(obj)
        meta: dict[str, Any] = {"name": name_of(obj), "named": named}
        if named and not walk.project(meta["name"].partition(":")[0]):
            return Node(self.kind, type_name(obj), meta)
        found, info = inside(obj), _WRAPPER.cache_info(obj)
        meta |= {"hits": info.hits, "misses": info.misses, "maxsize": info.maxsize, "typed": found.typed}
        slots = [walk.slot(part) for entry in found.entries for part in _parts(*entry, found)]
        own = {name: walk.slot(value) for name, value in _own(obj).items()}
        return Node(self.kind, type_name(obj), meta, [walk.slot(found.function), *slots], own)

    def accepts(self, node: Node, live: Any) -> bool:
        """The cached function of that name and size."""
        same = super().accepts(node, live) and name_of(live) == node.meta["name"]
        return same and ("hits" not in node.meta or _WRAPPER.cache_info(live).maxsize == node.meta["maxsize"])

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """The function, and results of equal place."""
        if "hits" in node.meta:
            found = inside(live)
            parts = [part for entry in found.entries for part in _parts(*entry, found)]
            yield from zip(node.items, [found.function, *parts], strict=False)
            present = _own(live)
            yield from ((slot, present[name]) for name, slot in node.attrs.items() if name in present)

    def lacking(self, node: Node) -> str:
        """A cached function is code: it must be found."""
        found = node.meta["named"] and isinstance(lookup(node.meta["name"]), _WRAPPER)
        return "" if found else "this process has no such cached function at this place"

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live one, or the one of that name."""
        return lookup(node.meta["name"]) if live is MISSING else live

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """Entries and counts."""
        if "hits" not in node.meta:
            return
        parts = [load(slot) for slot in node.items[1:]]
        entries = list(zip(parts[::3], parts[1::3], parts[2::3], strict=True))
        found = inside(obj)
        _put_entries(obj, found, entries)
        _write(found.at + _WORD, node.meta["hits"])
        _write(found.at + 4 * _WORD, node.meta["misses"])
        own = attributes.namespace(obj)
        if own is not None:
            own.update((name, load(slot)) for name, slot in node.attrs.items())


def _own(cache: Any) -> dict[str, Any]:
    """What a script has put on the function; the rest was made by the decorator."""
    made = ("__wrapped__", "cache_parameters", "__annotations__", "__doc__", "__module__", "__name__", "__qualname__")
    return {name: value for name, value in (attributes.namespace(cache) or {}).items() if name not in made}


def _parts(key: Any, result: Any, found: Inside) -> tuple[tuple[Any, ...], dict[str, Any], Any]:
    """The arguments of an entry, positional and by keyword, and what they gave."""
    if type(key) is not tuple:
        return (key,), {}, result
    marks = [place for place, part in enumerate(key) if part is found.mark]
    words = key[marks[0] + 1 :] if marks else ()
    args = key[: marks[0]] if marks else key
    if found.typed:  # the types of all arguments stand behind
        if marks:
            count = len(words) - len(args)
            words = words[: count // 3 * 2]
        else:
            args = args[: len(args) // 2]
    return tuple(args), dict(zip(words[::2], words[1::2], strict=True)), result


def _put_entries(cache: Any, found: Inside, entries: Iterable[tuple[Any, Any, Any]]) -> None:
    _WRAPPER.cache_clear(cache)
    results: list[Any] = []
    stand_in = lambda *_, **__: results.pop()  # noqa: E731
    place = found.at + 2 * _WORD
    _write(place, id(stand_in))
    try:
        for args, words, result in entries:
            results.append(result)
            cache(*args, **words)
    finally:
        _write(place, id(found.function))


def _write(address: int, value: int) -> None:
    ctypes.c_ssize_t.from_address(address).value = value
