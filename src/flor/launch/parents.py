"""A process that must not outlive the one that started it."""

from __future__ import annotations

import ctypes
import os
import signal
from contextlib import suppress

PR_SET_PDEATHSIG = 1


def end_with_parent(parent: int | None = None) -> None:
    """Have the kernel end this process with the one that started it, however that ends (Linux only).

    `parent` is the process id that it has: if that one ended before this was asked for, this one ends here.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if parent is not None and os.getppid() != parent:
        os._exit(1)
