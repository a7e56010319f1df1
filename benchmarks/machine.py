"""The facts of the machine that a table of times needs beside it."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path


def facts() -> dict[str, str]:
    """Processor, cores, memory, kernel, versions."""
    import torch

    return {
        "processor": f"{_first('/proc/cpuinfo', r'model name[^:]*: (.*)')}, {len(os.sched_getaffinity(0))} cores",
        "memory": f"{int(_first('/proc/meminfo', r'MemTotal: *([0-9]+)') or 0) / 1e6:.0f} GB",
        "kernel": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "torch": f"{torch.__version__}, {torch.get_num_threads()} thread(s)",
    }


def facts_line() -> str:
    """The same as one line of Markdown."""
    return "; ".join(f"{name}: {value}" for name, value in facts().items())


def _first(path: str, pattern: str) -> str:
    try:
        found = re.search(pattern, Path(path).read_text())
    except OSError:
        return ""
    return found[1].strip() if found else ""
