"""What a snapshot does not hold is named, by every name that leads to it."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from rich.progress import Progress

from flor.errors import RestoreMismatch
from flor.state.unaccounted import unaccounted


class Sender:
    def __init__(self, link: socket.socket) -> None:
        self.link = link


@pytest.fixture
def link() -> Any:
    with socket.socket() as made:
        yield made


def test_a_socket_is_unaccounted_under_all_of_its_names(trip: Any, link: Any) -> None:
    snapshot = trip.take({"s": {"sender": Sender(link), "links": [link]}})
    assert not snapshot.refusals
    (found,) = unaccounted(snapshot)
    assert (found.names, found.type) == (("link", "links"), "socket.socket")


def test_plain_state_is_accounted(trip: Any) -> None:
    assert unaccounted(trip.take({"s": {"numbers": [1, {"a": 2}]}})) == ()


def test_what_is_refused_inside_an_output_costs_no_checkpoint(trip: Any) -> None:
    bar = Progress(disable=True)
    bar.source = (n for n in range(3))  # type: ignore[attr-defined]
    snapshot = trip.take({"s": {"bar": bar}})
    assert not snapshot.refusals
    assert any("bar" in found.names and "suspended" in found.reason for found in unaccounted(snapshot))


def test_the_same_generator_under_a_name_is_refused(trip: Any) -> None:
    bar = Progress(disable=True)
    bar.source = source = (n for n in range(3))  # type: ignore[attr-defined]
    assert trip.take({"s": {"bar": bar, "box": {"a": [source]}}}).refusals


def test_a_witness_that_has_changed_is_a_mismatch(trip: Any) -> None:
    import hashlib

    digest = hashlib.sha256(b"a")
    saved = trip.through_bytes(trip.take({"s": {"digest": digest}}))
    assert trip.put(saved, {"s": {"digest": digest}}).values["s"]["digest"] is digest
    digest.update(b"b")
    with pytest.raises(RestoreMismatch, match="sha256"):
        trip.put(saved, {"s": {"digest": digest}})
