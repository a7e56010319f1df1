"""A scene for every test."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

from flor_scene import Scene, open_scene


@pytest.fixture
def scene() -> Iterator[Scene]:
    with open_scene() as opened:
        yield opened
