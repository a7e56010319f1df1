"""Ranks of one segment wait for each other at its end."""

from __future__ import annotations

import time
from pathlib import Path

PATIENCE = 60.0  # seconds; who has not come by then has failed, which whoever started us sees


def wait_for_others(folder: Path, name: str, segment: int, ranks: int) -> None:
    """Say that this rank is done, and come back when all are."""
    if ranks == 1:
        return
    (folder / f"{name}.done").touch()
    end = time.monotonic() + PATIENCE
    while len(list(folder.glob(f"w{segment}r*.done"))) < ranks and time.monotonic() < end:
        time.sleep(0.01)
