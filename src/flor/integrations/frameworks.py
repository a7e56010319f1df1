"""Frameworks that are there only if the user has them."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from flor.errors import MissingFramework


def framework(*names: str) -> Any:
    """The first of these modules that the script has imported, or that can be; they are one framework's names."""
    missing: ImportError | None = None
    for name in sorted(names, key=lambda name: name not in sys.modules):
        try:
            return import_module(name)
        except ImportError as error:
            missing = missing or error
    package = names[0].partition(".")[0]
    raise MissingFramework(
        f"{package} can't be imported: {missing}.", todo=f"pip install {package}, or leave out its FlorCallback."
    ) from missing
