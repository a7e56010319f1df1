"""What stands before every step of every optimizer until the copies made beside training are made."""

from __future__ import annotations

import sys
from typing import Any

from flor.state import loaded
from flor.state.late import LateCopy, compilations


class Barrier:
    """Stands before every step of every optimizer, and lets it through when what it will change is copied."""

    def __init__(self) -> None:
        self.pending: LateCopy | None = None
        self.trusted = True
        self._installed = False

    def usable(self) -> bool:
        """True if copies may be made late: nothing spoke against it so far."""
        return self.trusted and is_alone() and not compilations() and self._install()

    def watch(self, late: LateCopy) -> None:
        """From now on steps wait for these copies."""
        self.pending = late

    def settle(self) -> None:
        """Come back when nothing is left to copy; called by the training thread."""
        late = self.pending
        if late is None:
            return
        try:
            late.finish()
            late.confirm()
        finally:  # whatever comes in between, no step waits for these copies again
            if self.pending is late:
                self.pending = None
        self.trusted &= late.sound

    def pass_by(self) -> None:
        """The training thread is between two statements of the script: what is copied can be confirmed."""
        if self.pending is not None and self.pending.is_copied:
            self.settle()

    def _install(self) -> bool:
        if not self._installed:
            register = loaded.attribute("torch.optim.optimizer", "register_optimizer_step_pre_hook")
            if register is None:
                return False
            register(self._before_step)
            self._installed = True
        return True

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if loaded.torch().compiler.is_compiling():
            return  # a compiler that traces the step sees an empty hook; from then on nothing is copied late
        if self.pending is not None:
            try:
                self.settle()
            except Exception:  # P2: the step is the script's
                self.trusted = False


def is_alone() -> bool:
    """True if no other process trains with this one: sharded parameters move behind everybody's back."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return True
    return bool(distributed.get_world_size() == 1)


def is_hooked(optimizer: Any) -> bool:
    """True if its steps run torch's hooks."""
    return bool(getattr(type(optimizer).step, "hooked", False))
