"""A function of ours that stands for a library's is that function to a checkpoint."""

from __future__ import annotations

import io
import os
from typing import Any

import pytest
import torch

from flor.launch.overlay.patches import Patches
from flor.state import differences


def replaced(module: Any, name: str, patches: Patches) -> Any:
    """The module's function, replaced as a replay does it."""
    patches.function(module, name, getattr(module, name))
    patches.spread()
    return getattr(module, name)


@pytest.mark.parametrize(("module", "name"), [(io, "open"), (os, "remove"), (torch, "save"), (torch, "load")])
def test_a_name_bound_to_a_replaced_function_is_no_difference(module: Any, name: str, trip: Any) -> None:
    recorded = trip.through_bytes(trip.take({"s": {"f": getattr(module, name)}}))
    patches = Patches()
    try:
        now = trip.take({"s": {"f": replaced(module, name, patches)}})
        assert list(differences(recorded, now)) == []
    finally:
        patches.undo()


@pytest.mark.parametrize(("module", "name"), [(io, "open"), (os, "remove"), (torch, "load")])
def test_a_restore_keeps_the_replacement_in_its_place(module: Any, name: str, trip: Any) -> None:
    recorded = trip.through_bytes(trip.take({"s": {"f": getattr(module, name)}}))
    patches = Patches()
    try:
        live = replaced(module, name, patches)
        assert trip.put(recorded, {"s": {"f": live}}).values["s"]["f"] is live
    finally:
        patches.undo()


def test_another_function_at_that_place_is_a_difference(trip: Any) -> None:
    recorded = trip.through_bytes(trip.take({"s": {"f": os.remove}}))
    patches = Patches()
    try:
        now = trip.take({"s": {"f": replaced(os, "rmdir", patches)}})
        assert list(differences(recorded, now))
    finally:
        patches.undo()
