"""Libraries if the script has loaded them: flor never imports torch or numpy on its own account."""

from __future__ import annotations

import sys
from typing import Any


def torch() -> Any:
    """The torch module, or None where the script never imported it."""
    module = sys.modules.get("torch")
    return module if hasattr(module, "UntypedStorage") and hasattr(module, "nn") else None


def numpy() -> Any:
    """The numpy module, or None where the script never imported it."""
    module = sys.modules.get("numpy")
    return module if hasattr(module, "ndarray") and hasattr(module, "random") else None


def attribute(module: str, name: str) -> Any:
    """An attribute of a module if that is loaded, else None; follows no `__getattr__`."""
    found = sys.modules.get(module)
    return None if found is None else vars(found).get(name)


def synchronize() -> None:
    """Let every CUDA device finish what it was given, on all of its streams. Not run here: there was no GPU."""
    cuda = getattr(torch(), "cuda", None)
    if cuda is not None and cuda.is_initialized():
        for device in range(cuda.device_count()):
            cuda.synchronize(device)
