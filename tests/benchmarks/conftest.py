"""Benchmarks are scripts beside each other: their folder is on the path while these tests are loaded."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent.parent / "benchmarks"))
