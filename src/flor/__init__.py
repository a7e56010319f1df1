"""flor: hindsight logging for model training."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from flor.runtime.api import log

if TYPE_CHECKING:
    from flor.explicit.arguments import arg
    from flor.explicit.blocks import SkipBlock, skipblock
    from flor.explicit.checkpoints import checkpoint, checkpoint_resume
    from flor.explicit.loops import generator, loop
    from flor.query.runs import Run, run, runs
    from flor.runtime.background import background

__version__ = "0.1.0"
__all__ = [
    "Run",
    "SkipBlock",
    "arg",
    "background",
    "checkpoint",
    "checkpoint_resume",
    "generator",
    "log",
    "loop",
    "run",
    "runs",
    "skipblock",
]

_HOMES = {
    "Run": "flor.query.runs",
    "SkipBlock": "flor.explicit.blocks",
    "arg": "flor.explicit.arguments",
    "background": "flor.runtime.background",
    "checkpoint": "flor.explicit.checkpoints",
    "checkpoint_resume": "flor.explicit.checkpoints",
    "generator": "flor.explicit.loops",
    "loop": "flor.explicit.loops",
    "run": "flor.query.runs",
    "runs": "flor.query.runs",
    "skipblock": "flor.explicit.blocks",
}
"""Where each name is found when it is first asked for, so that `import flor` stays quick."""


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'flor' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
