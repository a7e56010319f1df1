"""Bugs in our own capture and restore are found by the generated programs, each of which is exact without them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from judging import EXACT, Recorded, record
from programs import compose
from seeded import BUGS, CARRIERS
from zygote import Zygote


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    with Zygote() as started:
        yield started


def carried(zygote: Zygote, name: str, folder: Path, bug: str | None = None) -> Recorded:
    return record(zygote, folder / "work", compose(*CARRIERS[name]).text(), bug=bug)


@pytest.mark.parametrize("name", CARRIERS)
def test_a_carrier_is_exact_without_a_bug(zygote: Zygote, tmp_path: Path, name: str) -> None:
    recorded = carried(zygote, name, tmp_path)
    assert (recorded.ran.code, recorded.refusals) == (0, {})
    continued = [recorded.continue_from(key) for key in recorded.keys(4)]
    assert [str(one) for one in continued if one.verdict != EXACT] == []


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_is_found(zygote: Zygote, tmp_path: Path, bug: str) -> None:
    recorded = carried(zygote, BUGS[bug].carrier, tmp_path, bug)
    keys = sorted(
        recorded.keys(), key=lambda key: (key.iteration is None, -(key.iteration or 0))
    )  # resume points first
    assert any(recorded.continue_from(key).verdict != EXACT for key in keys[:8])
