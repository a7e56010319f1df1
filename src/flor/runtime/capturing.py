"""The state of the program at a boundary: which names, which of them may be dropped, captured."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType

from flor.model.checkpoints import Key
from flor.runtime.scopes import ScopeReader, Scopes, is_module_level
from flor.runtime.sites import LoopFrame
from flor.state import Admit, Memory, Snapshot, capture
from flor.state.demand import always

DeadNames = Callable[[str, bool], frozenset[str]]
"""(loop, at its end?) -> names of its own function that certainly are not read any more."""


@dataclass
class Capturer:
    """Takes snapshots of the project's names."""

    scopes: ScopeReader
    dead_names: DeadNames
    memory: Memory | None = field(default_factory=Memory)
    all_is_seen: Callable[[], bool] = lambda: False  # whether the project changes tensors by torch's operators alone
    effort: float = 0.0  # seconds of a processor that it took to prepare

    def capture(
        self,
        key: Key,
        frame: LoopFrame,
        caller: FrameType,
        *,
        admit: Admit = always,
        budget_nodes: int | None = None,
    ) -> Snapshot:
        """What the program's state is now; dead names are kept if that is cheap, since a later probe may read them."""
        scopes = self.scopes.read(caller, frame)
        return capture(
            scopes,
            project=self.scopes.owns_module,
            optional=self.optional(scopes, key, caller),
            of_classes=self.scopes.stores().of_classes,
            memory=self.memory,
            admit=admit,
            budget_nodes=budget_nodes,
        )

    def prepare(self, loop: str) -> None:
        """Find out beforehand what is asked at every checkpoint: which modules are the project's, which names live."""
        begun = time.thread_time()
        self.scopes.modules()
        self.dead_names(loop, True)
        self.effort = time.thread_time() - begun

    def whole(self, caller: FrameType) -> Snapshot:
        """What the program's state is now, all names alike."""
        scopes = self.scopes.read(caller, None)
        return capture(
            scopes,
            project=self.scopes.owns_module,
            optional={s: scopes[s].keys() for s in scopes},
            of_classes=self.scopes.stores().of_classes,
        )

    def optional(self, scopes: Scopes, key: Key, caller: FrameType) -> dict[str, frozenset[str]]:
        """The names of the loop's own scope that nothing reads any more."""
        dead = self.dead_names(key.execution.loop, key.iteration is None)
        own = f"module:{caller.f_globals.get('__name__')}" if is_module_level(caller) else None
        scope = own or next(iter(scopes), "")
        return {scope: dead & scopes[scope].keys()} if scope in scopes else {}
