"""The part that says `exact`: each row of its table, and that the rows find what is put wrong in it."""

from __future__ import annotations

import pytest

from tests.replay.faults import FAULTS
from tests.replay.verdicts import CASES, load

LAYER = load()


@pytest.mark.parametrize("case", CASES)
def test_the_verdict(case: str) -> None:
    CASES[case](LAYER)


def finds(fault: str) -> str | None:
    """The first row that a fault makes fail."""
    layer = load(FAULTS[fault])
    for name, case in CASES.items():
        try:
            case(layer)
        except Exception:
            return name
    return None


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_verdict_is_found(fault: str) -> None:
    assert finds(fault) is not None
