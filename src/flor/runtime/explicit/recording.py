"""Recording what the user declares: the ends of blocks, and complete states between iterations."""

from __future__ import annotations

from types import FrameType

from flor.model.checkpoints import Key
from flor.model.explicit import Construct, is_block
from flor.runtime.explicit.declared import Declared
from flor.runtime.recording import Recorder
from flor.runtime.sites import LoopFrame

PASSES = "passes"
"""The key of a loop that replay has to go through from its beginning."""


class ExplicitRecorder(Recorder):
    """Takes checkpoints of declared objects only, under the same budget."""

    declared: Declared

    def boundary(self, frame: LoopFrame, caller: FrameType, now: float, index: int) -> bool:
        """A resume point of the outermost loop, if what it hands on was declared."""
        declared = self.declared
        if frame.key != PASSES and frame is self.session.stack[0] and (declared.once or declared.complete):
            super().boundary(frame, caller, now, index)
        declared.once = None
        return True

    def leaving(self, frame: LoopFrame, caller: FrameType, now: float) -> None:
        """The end of a block, if it is worth it; the state that training begins with in any case."""
        if frame.site.loop.startswith(Construct.START.value):
            # One checkpoint past the budget, which later ones have to make up for: with it an unseeded script replays.
            self._take(Key(self._execution(frame), None), frame, caller, in_any_case=True)
        elif is_block(frame.site.loop):
            super().leaving(frame, caller, now)
