"""Random number generators go on where they were."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch


class Dice(random.Random):
    sides = 6


STREAMS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "random.Random": (lambda: random.Random(3), lambda g: [g.gauss(0, 1), g.random()]),
    "a derived Random": (lambda: Dice(3), lambda g: g.randint(1, g.sides)),
    "numpy Generator": (lambda: np.random.default_rng(3), lambda g: g.normal()),
    "numpy Philox": (lambda: np.random.Generator(np.random.Philox(3)), lambda g: g.integers(1 << 30)),
    "numpy RandomState": (lambda: np.random.RandomState(3), lambda g: g.randn()),
    "torch.Generator": (lambda: torch.Generator().manual_seed(3), lambda g: torch.randn(1, generator=g).item()),
}


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("live", [True, False], ids=["in place", "made anew"])
def test_a_generator_goes_on_where_it_was(name: str, live: bool, trip: Any) -> None:
    make, draw = STREAMS[name]
    g = make()
    draw(g)
    saved = trip.through_bytes(trip.take({"s": {"g": g}}))
    expected = [draw(g) for _ in range(4)]
    restored = trip.put(saved, {"s": {"g": g} if live else {}}).values["s"]["g"]
    assert (restored is g) is live
    assert [draw(restored) for _ in range(4)] == expected


def draw_from_the_world() -> list[Any]:
    return [random.random(), random.gauss(0, 1), np.random.rand(), np.random.randn(), torch.randn(2).tolist()]


def test_the_world_goes_on_where_it_was(trip: Any) -> None:
    random.gauss(0, 1)
    saved = trip.through_bytes(trip.take({"s": {}}))
    expected = draw_from_the_world()
    trip.put(saved, {"s": {}})
    assert draw_from_the_world() == expected


def test_capture_draws_nothing(trip: Any) -> None:
    trip.take({"s": {"g": np.random.default_rng(1)}})
    saved = trip.through_bytes(trip.take({"s": {}}))
    for _ in range(3):
        trip.take({"s": {"loader": torch.utils.data.DataLoader([1, 2], shuffle=True)}})
    expected = draw_from_the_world()
    trip.put(saved, {"s": {}})
    assert draw_from_the_world() == expected
