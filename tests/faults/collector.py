"""A sweep of a store, to be killed at any of its system calls."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from flor.store.layout import Layout
from flor.store.retention.gc import carry_out
from flor.store.retention.rules import Rules

if __name__ == "__main__":
    carry_out(Layout(Path(sys.argv[1])), Rules(keep_last=1, keep_every=3), time.time())
