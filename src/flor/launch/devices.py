"""Paths that lead to no file of the user's: devices, the kernel's own trees, memory that processes share."""

from __future__ import annotations

import re

DEVICES = ("/dev/", "/proc/", "/sys/")
SHARED_MEMORY = "/dev/shm"
_IN_A_FOLDER = re.compile(rf"{SHARED_MEMORY}/[^/]+/.")


def is_device(path: str) -> bool:
    """True for such a path; what is in a folder of shared memory are files, as people put data there to be fast."""
    return path.startswith(DEVICES) and not _IN_A_FOLDER.match(path)
