"""A store of its own for every test; lets the tests of this folder import `checkpointed`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from flor.store.layout import Layout

sys.path.append(str(Path(__file__).parent))


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    store = Layout(tmp_path / ".flor")
    store.prepare()
    return store
