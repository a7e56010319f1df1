"""Live DataLoader iterators give the batches that the full run gives."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, WeightedRandomSampler

from flor.state import watch_loaders


class Numbers(Dataset[Any]):
    """Ten numbers; each look at one is noted."""

    def __init__(self) -> None:
        self.looked: list[int] = []

    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> int:
        self.looked.append(index)
        return index


class Stream(IterableDataset[Any]):
    def __iter__(self) -> Iterator[int]:
        return (random.randrange(1000) for _ in range(10))


@pytest.fixture(autouse=True)
def watched() -> None:
    assert watch_loaders() and watch_loaders()


def loader_of(kind: str) -> DataLoader[Any]:
    data = Numbers()
    made = {
        "plain": lambda: DataLoader(data, batch_size=2),
        "shuffled": lambda: DataLoader(data, batch_size=2, shuffle=True),
        "own generator": lambda: DataLoader(data, 2, shuffle=True, generator=torch.Generator().manual_seed(5)),
        "weighted": lambda: DataLoader(data, 2, sampler=WeightedRandomSampler([1.0] * 10, 10)),
        "two workers": lambda: DataLoader(data, 2, shuffle=True, num_workers=2),
        "stream": lambda: DataLoader(Stream(), batch_size=2),
        "single": lambda: DataLoader(data, batch_size=None, shuffle=True),
    }
    return made[kind]()


KINDS = ["plain", "shuffled", "own generator", "weighted", "stream", "single", "two workers"]


def rest(iterator: Any) -> list[Any]:
    return [batch.tolist() if hasattr(batch, "tolist") else batch for batch in iterator]


@pytest.mark.parametrize("kind", KINDS)
def test_a_restored_iterator_gives_the_rest_of_the_batches(kind: str, trip: Any) -> None:
    loader = loader_of(kind)
    torch.manual_seed(1)
    random.seed(1)
    iterator = iter(loader)
    torch.randn(3)
    for _ in range(2):
        next(iterator)
    saved = trip.through_bytes(trip.take({"s": {"loader": loader, "it": iterator}}))
    torch.randn(1)
    expected = rest(iterator)
    then = torch.rand(1)
    values = trip.put(saved, {"s": {"loader": loader}}).values["s"]
    torch.randn(1)
    assert values["loader"] is loader
    assert rest(values["it"]) == expected
    assert torch.equal(torch.rand(1), then)


def test_batches_already_taken_are_not_loaded_again(trip: Any) -> None:
    loader = loader_of("shuffled")
    iterator = iter(loader)
    for _ in range(3):
        next(iterator)
    saved = trip.through_bytes(trip.take({"s": {"loader": loader, "it": iterator}}))
    loader.dataset.looked.clear()  # type: ignore[attr-defined]
    trip.put(saved, {"s": {"loader": loader}})
    assert len(loader.dataset.looked) == 6  # type: ignore[attr-defined]  # as saved: none were added


def test_an_iterator_inside_an_object_and_an_enumerate_goes_on(trip: Any) -> None:
    loader = loader_of("shuffled")
    holder = {"it": enumerate(iter(loader))}
    next(holder["it"])
    saved = trip.through_bytes(trip.take({"s": {"loader": loader, "h": holder}}))
    expected = [(i, batch.tolist()) for i, batch in holder["it"]]
    trip.put(saved, {"s": {"loader": loader, "h": holder}})
    assert [(i, batch.tolist()) for i, batch in holder["it"]] == expected


def test_a_restored_iterator_can_be_captured_again(trip: Any) -> None:
    loader = loader_of("shuffled")
    iterator = iter(loader)
    next(iterator)
    saved = trip.through_bytes(trip.take({"s": {"loader": loader, "it": iterator}}))
    again = trip.put(saved, {"s": {"loader": loader}}).values["s"]["it"]
    next(again)
    twice = trip.through_bytes(trip.take({"s": {"loader": loader, "it": again}}))
    expected = rest(again)
    assert rest(trip.put(twice, {"s": {"loader": loader}}).values["s"]["it"]) == expected


def test_watching_changes_neither_batches_nor_rng() -> None:
    from torch.utils.data.dataloader import _SingleProcessDataLoaderIter

    loader = loader_of("shuffled")
    torch.manual_seed(3)
    unwatched = rest(_SingleProcessDataLoaderIter(loader)), torch.rand(1)
    torch.manual_seed(3)
    assert (rest(iter(loader)), torch.rand(1)) == unwatched
    assert not [name for name in vars(iter(loader)) if "flor" in name]
