"""A sample of `mutating`: damaged and crafted stores give no wrong value and have nothing executed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_damaged_and_crafted_stores_do_no_harm() -> None:
    """In a process of its own, since an audit hook stays for good."""
    words = ["--mutated", "60", "--crafted", "60", "--first", "70000"]
    command = [sys.executable, "-m", "tests.security.mutating", *words]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    for line in (line for line in done.stdout.splitlines() if "stores" in line):
        assert "0 wrong values, 0 executions, 0 tracebacks, 0 hangs, 0 files outside" in line, done.stdout
