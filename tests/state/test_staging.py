"""Memory for copies: forked children do not get it, and it is in huge pages where there are some."""

from __future__ import annotations

from pathlib import Path

import pytest

from flor.state.regions import address_of
from flor.state.staging import private

SMAPS, HUGE = Path("/proc/self/smaps"), Path("/sys/kernel/mm/transparent_hugepage/enabled")


def flags_of(address: int) -> list[str]:
    """What the system was told of the memory at that address."""
    here = False
    for line in SMAPS.read_text().splitlines():
        first = line.split(maxsplit=1)[0]
        if "-" in first:
            low, high = (int(part, 16) for part in first.split("-"))
            here = low <= address < high
        elif here and first == "VmFlags:":
            return line.split()[1:]
    raise AssertionError("no such memory")


@pytest.mark.skipif(not SMAPS.exists(), reason="only Linux tells")
def test_a_forked_child_does_not_get_it() -> None:
    buffer = private(1 << 22)
    assert "dc" in flags_of(address_of(buffer))


@pytest.mark.skipif(not SMAPS.exists() or not HUGE.exists(), reason="this system has no huge pages")
def test_it_may_be_in_huge_pages() -> None:
    buffer = private(1 << 22)
    assert "hg" in flags_of(address_of(buffer))
