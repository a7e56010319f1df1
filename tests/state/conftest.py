"""What the tests of this room share: capture, a trip through bytes, restore."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from flor.state import Memory, Rebinding, Snapshot, capture, decode, encode, restore


def is_project(module: str) -> bool:
    return "test_" in module


@dataclass
class Trip:
    """Snapshots to bytes and back, as through a store."""

    stored: dict[str, bytes] = field(default_factory=dict)

    def take(self, scopes: dict[str, dict[str, Any]], **options: Any) -> Snapshot:
        return capture(scopes, project=is_project, **options)

    def through_bytes(self, snapshot: Snapshot) -> Snapshot:
        graph, blobs = encode(snapshot)
        self.stored.update((blob.name, bytes(blob.data)) for blob in blobs if blob.data is not None)
        return decode(graph, lambda name: memoryview(self.stored[name]))

    def put(self, snapshot: Snapshot, scopes: dict[str, dict[str, Any]]) -> Rebinding:
        return restore(snapshot, scopes, project=is_project)

    def after(self, scopes: dict[str, dict[str, Any]], change: Callable[[], Any]) -> dict[str, Any]:
        """Capture, change, restore; gives the values of the scope `s`."""
        snapshot = self.take(scopes)
        assert not snapshot.refusals, snapshot.refusals
        saved = self.through_bytes(snapshot)
        change()
        return self.put(saved, scopes).values["s"]


@pytest.fixture
def trip() -> Trip:
    return Trip()


@pytest.fixture
def memory() -> Memory:
    return Memory()
