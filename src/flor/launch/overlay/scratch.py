"""Temporary files and compilers' caches: a real folder inside the overlay's, so that other programs find it too."""

from __future__ import annotations

import os
import tempfile
from types import ModuleType
from typing import Any

from flor.launch.overlay.patches import Patches
from flor.launch.overlay.view import View

# multiprocessing keeps only sockets there, and a socket's path must be short: these stay in the system's folder.
SOCKETS = "pymp-"
CACHES = {"TORCHINDUCTOR_CACHE_DIR": "inductor", "TRITON_CACHE_DIR": "triton", "TORCH_EXTENSIONS_DIR": "extensions"}

INDUCTOR = "torch._inductor.runtime.cache_dir_utils"
PROCESSES = "multiprocessing.process"


class Scratch:
    """Sends `tempfile` without a `dir` to the overlay's folder, and the caches of torch's compilers."""

    def __init__(self, view: View, sockets: str = "") -> None:
        self.view = view
        self.sockets = sockets  # the one folder in which multiprocessing may make its sockets; it chooses if empty
        self.folder = f"{view.folder}/tmp"
        self._environment: dict[str, str | None] = {}

    def start(self, patches: Patches) -> None:
        """From now on."""
        os.makedirs(self.folder, exist_ok=True)
        self.view.let_pass(f"{os.path.realpath(tempfile.gettempdir())}/{SOCKETS}")
        original = getattr(tempfile, "_sanitize_params", None)
        if original is not None:
            patches.attribute(tempfile, "_sanitize_params", self._sanitize(original))
        for name, inner in CACHES.items():
            self._set_cache(name, f"{self.view.folder}/caches/{inner}")

    def arrived(self, name: str, module: ModuleType, patches: Patches) -> None:
        """Inductor keeps headers beside its cache's default place, whatever its setting is."""
        if name == PROCESSES and self.sockets:
            module.current_process()._config["tempdir"] = self.sockets
        if name == INDUCTOR and hasattr(module, "default_cache_dir"):
            patches.attribute(module, "default_cache_dir", lambda: f"{self.view.folder}/caches/inductor")

    def _sanitize(self, original: Any) -> Any:
        def sanitize(prefix: Any, suffix: Any, dir: Any) -> Any:  # noqa: A002
            prefix, suffix, where, kind = original(prefix, suffix, dir)
            if dir is None and os.fsdecode(prefix) != SOCKETS:
                where = os.fsencode(self.folder) if isinstance(where, bytes) else self.folder
            return prefix, suffix, where, kind

        return sanitize

    def _set_cache(self, name: str, folder: str) -> None:
        """One that the caller chose, and that passes through, stays."""
        given = os.environ.get(name)
        if given is None or not self.view.passes(os.path.abspath(given)):
            self._environment[name] = given
            os.environ[name] = folder

    def stop(self) -> None:
        """The environment as it was."""
        for name, given in self._environment.items():
            if given is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = given
        self._environment.clear()
