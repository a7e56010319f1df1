"""A store of its own for every test."""

from __future__ import annotations

from pathlib import Path

import pytest

from flor.store.layout import Layout


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    store = Layout(tmp_path / ".flor")
    store.prepare()
    return store
