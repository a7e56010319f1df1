"""Checkpoints read back: found, decoded, put in place or compared."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import FrameType
from typing import Any

from xxhash import xxh3_128_hexdigest

from flor.errors import Damaged, FlorError, RestoreMismatch, StoreError
from flor.model.checkpoints import Checkpoint, FilesNow, Key, content_name
from flor.model.positions import Execution
from flor.runtime.capturing import DeadNames
from flor.runtime.owners import OWNER, not_stored, read_like
from flor.runtime.scopes import HIDDEN, ITEM, ScopeReader
from flor.runtime.sites import LoopFrame
from flor.source.imports import imported_modules
from flor.state import Snapshot, decode, differences, restore
from flor.state.allowance import NOTHING_DIFFERS, Allowance
from flor.store.packreader import read_pack


@dataclass
class Checkpoints:
    """The checkpoints of a run, by the moment that they hold."""

    folder: Path
    found: Mapping[Key, Checkpoint]
    dead_names: DeadNames
    without: frozenset[str] = frozenset()
    _packs: dict[str, Any] = field(default_factory=dict)
    _checked: set[tuple[str, str]] = field(default_factory=set)

    def exists(self, key: Key) -> bool:
        """True if there is one to compare with."""
        return key in self.found and str(key) not in self.without and key.execution.loop not in self.without

    def inside(self, execution: Execution) -> bool:
        """True if there may be one at an iteration of this execution."""
        return execution in self._with_points

    @cached_property
    def _with_points(self) -> frozenset[Execution]:
        return frozenset(key.execution for key in self.found if key.iteration is not None)

    def usable(self, key: Key) -> bool:
        """True if it holds every name that the source, as it is now, may read after it."""
        if not self.exists(key):
            return False
        unkept = self.found[key].unkept
        if not unkept:
            return True
        dead = self.dead_names(key.execution.loop, key.iteration is None)
        return all(names.keys() <= dead for names in unkept.values())

    def load(self, key: Key) -> Snapshot:
        """The snapshot; its bulk data is read when it is needed."""
        checkpoint = self.found[key]
        file, _, name = checkpoint.graph.partition("/")
        graph = bytes(self._entry(key, file, name, checkpoint.digest))
        try:
            return decode(graph, lambda blob: self._blob(key, checkpoint, blob))
        except StoreError as error:
            raise RestoreMismatch(f"The checkpoint can't be read: {error.what}.", where=str(key)) from error

    def files(self, key: Key) -> FilesNow:
        """The files that the run had written by then."""
        checkpoint = self.found[key]
        return FilesNow(checkpoint.files, self.contents(key), checkpoint.shapes)

    def contents(self, key: Key) -> dict[str, bytes]:
        """The contents of files that the checkpoint holds, by their hashes."""
        checkpoint = self.found[key]
        names = {digest: content_name(digest) for _, _, digest in checkpoint.files.values() if digest}
        held = {digest: name for digest, name in names.items() if name in checkpoint.blobs}
        return {digest: bytes(self._entry(key, checkpoint.blobs[name], name, digest)) for digest, name in held.items()}

    def _blob(self, key: Key, checkpoint: Checkpoint, name: str) -> memoryview:
        if name not in checkpoint.blobs:
            raise RestoreMismatch(f"The checkpoint was announced without {name}.", where=str(key))
        return self._entry(key, checkpoint.blobs[name], name, name)  # bulk data is named by its digest

    def _entry(self, key: Key, file: str, name: str, digest: str) -> memoryview:
        """An entry whose bytes are those that were announced; anything else is refused."""
        try:
            if file not in self._packs:
                self._packs[file] = read_pack(self.folder / file)
            pack = self._packs[file]
            data = pack[name].data
        except (Damaged, KeyError, OSError) as error:
            raise RestoreMismatch(f"The checkpoint can't be read: {error}", where=str(key)) from error
        if (file, name) not in self._checked:
            if xxh3_128_hexdigest(data) != (digest or pack.digests.get(name)):
                raise RestoreMismatch(f"The checkpoint is damaged: {file}, {name}.", where=str(key))
            self._checked.add((file, name))
        return data  # type: ignore[no-any-return]


@dataclass
class Restorer:
    """Puts a checkpoint's state into the live program."""

    scopes: ScopeReader
    checkpoints: Checkpoints
    ignored: Callable[[str], bool] = lambda _: False
    restore_files: Callable[[FilesNow], None] = lambda _: None
    allowed: Allowance = NOTHING_DIFFERS  # readings of a clock, objects of the probes

    def restore(self, key: Key, frame: LoopFrame, caller: FrameType) -> list[str]:
        """In place where the objects are there, by rebinding names where they are not; what is not sure to be exact."""
        snapshot = self.checkpoints.load(key)
        import_missing(snapshot, self.scopes.modules())
        scopes = self.scopes.read(caller, frame)
        owners = read_like({scope: names for scope, names in snapshot.roots.items() if scope not in scopes})
        scopes.update(owners)
        missing = [scope for scope in snapshot.roots if scope not in scopes]
        if missing:
            raise RestoreMismatch(f"The recorded program had {missing[0]} here, this one does not.", where=str(key))
        # Before the state: the place in a file that the script has open is a part of that.
        self.restore_files(self.checkpoints.files(key))
        try:
            rebinding = restore(snapshot, scopes, project=self.scopes.owns_module, allowed=self.allowed)
        except RestoreMismatch as error:
            raise RestoreMismatch(error.what, where=str(key), todo=error.where) from error
        except FlorError:
            raise
        except Exception as error:  # a graph that makes no sense: the process ends here, and another one executes
            what = f"The checkpoint can't be put in place: {type(error).__name__}: {error}."
            raise RestoreMismatch(what, where=str(key)) from error
        self._check_names(key, rebinding.values)
        self.scopes.bind(caller, rebinding.values, self._unbind(rebinding.unbind))
        if ITEM in rebinding.values:
            frame.item = rebinding.values[ITEM][ITEM]
        return [str(doubt) for doubt in rebinding.doubts]

    def _check_names(self, key: Key, values: Mapping[str, Mapping[str, Any]]) -> None:
        """No name is bound that the recording would not have looked at."""
        for scope, names in values.items():
            hidden = HIDDEN.intersection(names) if scope.startswith("module:") else frozenset()
            odd = min(hidden, default="")
            if scope.startswith(OWNER):
                odd = not_stored(scope, names, self.scopes.stores())
            if odd:
                raise RestoreMismatch(f"The checkpoint would bind {odd} in {scope}.", where=str(key))

    def _unbind(self, names: Mapping[str, set[str]]) -> dict[str, set[str]]:
        """Without the names that a probe has bound: the recorded program cannot have had them."""
        return {scope: {n for n in found if not self.ignored(f"{scope}:{n}")} for scope, found in names.items()}

    def compare(self, key: Key, now: Snapshot) -> list[str]:
        """What differs between the recorded state and this one; empty if nothing does."""
        now.digest()
        try:
            found = differences(self.checkpoints.load(key), now, limit=1000, allowed=self.allowed)
        except FlorError:
            raise
        except Exception as error:
            what = f"The checkpoint can't be compared: {type(error).__name__}: {error}."
            raise RestoreMismatch(what, where=str(key)) from error
        return [str(difference) for difference in found if not self.ignored(difference.path)][:5]


def import_missing(snapshot: Snapshot, project: list[str]) -> None:
    """Import what the recorded program had imported by then, as far as an import statement of the project names it.

    Such modules may hold state. Only files count that this process itself has imported: a name that only the store
    knows is not imported, and restoring then says what is missing.
    """
    missing = {name for name in _modules(snapshot) if name and name not in sys.modules}
    if not missing:
        return
    for name in sorted(_imported_by(project)):
        if name not in sys.modules and any(_related(name, each) for each in missing):
            with suppress(Exception):  # `from package import name` may name no module
                importlib.import_module(name)


def _imported_by(project: list[str]) -> frozenset[str]:
    found: set[str] = set()
    for name in project:
        module = sys.modules.get(name)
        file, package = getattr(module, "__file__", None), getattr(module, "__package__", None)
        with suppress(OSError):
            found |= imported_modules(Path(str(file)).read_bytes(), str(package or ""))
    return frozenset(found)


def _modules(snapshot: Snapshot) -> Iterator[str]:
    """The modules that a snapshot speaks of: scopes, classes and functions."""
    yield from (scope.removeprefix("module:") for scope in snapshot.roots if scope.startswith("module:"))
    for node in snapshot.nodes:
        yield node.cls.partition(":")[0]
        if node.kind in ("class", "function", "builtin", "module") and isinstance(node.meta, dict):
            yield str(node.meta.get("name", "")).partition(":")[0]


def _related(named: str, missing: str) -> bool:
    """True if importing the one may bring the other, which lies in it or is re-exported by it."""
    return named.partition(".")[0] == missing.partition(".")[0]
