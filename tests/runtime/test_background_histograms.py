"""What the process that logs computes in a faster way is equal to the last bit."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from hypothesis.extra import numpy as arrays
from tensorboard.compat.tensorflow_stub import pywrap_tensorflow

from flor.runtime.background import crc, histograms, squares
from flor.runtime.background.histograms import Edges


def default_bins() -> list[float]:
    """As a SummaryWriter makes them."""
    limits, limit = [], 1e-12
    while limit < 1e20:
        limits.append(limit)
        limit *= 1.1
    return [-limit for limit in reversed(limits)] + [0] + limits


BINS = default_bins()
EDGES = Edges(BINS)


@pytest.fixture(autouse=True)
def always_by_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histograms, "FEW", 100)


def numpys(numbers: numpy.ndarray, bins: list[float]) -> list[int]:
    with numpy.errstate(invalid="ignore"):
        return [int(count) for count in numpy.histogram(numbers.astype(float), bins=bins)[0]]


def patterns(count: int, seed: int) -> numpy.ndarray:
    """Any bits: tiny, huge, infinite and not a number."""
    return numpy.random.default_rng(seed).integers(0, 1 << 32, count, dtype=numpy.uint32).view(numpy.float32)


@pytest.mark.parametrize("count", [1, 99, 100, 5000, histograms.PIECE + 1])
@pytest.mark.parametrize("scale", [1e-30, 1e-3, 1.0, 1e18])
def test_counts_are_numpys(count: int, scale: float) -> None:
    numbers = (numpy.random.default_rng(0).standard_normal(count) * scale).astype(numpy.float32)
    assert EDGES.counts(numbers).tolist() == numpys(numbers, BINS)


@pytest.mark.parametrize("seed", range(5))
def test_counts_are_numpys_for_any_bits(seed: int) -> None:
    numbers = patterns(20_000, seed)
    with numpy.errstate(invalid="ignore"):
        assert EDGES.counts(numbers).tolist() == numpys(numbers, BINS)


def test_counts_are_numpys_on_the_edges_and_right_beside_them() -> None:
    on = numpy.asarray(BINS).astype(numpy.float32)
    up, down = numpy.nextafter(on, numpy.float32(numpy.inf)), numpy.nextafter(on, numpy.float32(-numpy.inf))
    numbers = numpy.concatenate([on, up, down, [0.0, -0.0]]).astype(numpy.float32)
    assert EDGES.counts(numbers).tolist() == numpys(numbers, BINS)


@settings(max_examples=60, deadline=None)
@given(
    arrays.arrays(numpy.float32, some.integers(100, 400), elements=some.floats(width=32, allow_nan=False)),
    some.lists(some.floats(width=32, allow_nan=False, allow_infinity=False), min_size=2, max_size=9, unique=True),
)
def test_counts_are_numpys_for_any_edges(numbers: numpy.ndarray, edges: list[float]) -> None:
    edges = sorted({edge + 0.0 for edge in edges})
    if len(edges) > 1:
        numbers[:2] = edges[0], edges[-1]
        assert Edges(edges).counts(numbers).tolist() == numpys(numbers, edges)


@pytest.mark.parametrize("threads", ["1", "2", "3"])
def test_one_thread_adds_up_squares_as_several_did(threads: str) -> None:
    code = "from flor.runtime.background.squares import probe; print(repr(probe()))"
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": threads}
    found = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    code = f"from flor.runtime.background.squares import parts_of; print(parts_of({found.stdout.strip()}))"
    environment["OPENBLAS_NUM_THREADS"] = "1"
    parts = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert 1 <= int(parts.stdout) <= int(threads)


def test_sums_that_no_sharing_explains_are_refused() -> None:
    with pytest.raises(RuntimeError, match="adds up otherwise"):
        squares.parts_of((1.0, 2.0))


@pytest.mark.parametrize("size", [*range(260), 1000, 4096, 8191, 8192, 9001, 70_001])
def test_checksums_are_tensorboards(size: int) -> None:
    data = os.urandom(size)
    assert crc.crc32c(data) == pywrap_tensorflow.crc32c(data)
    assert crc.masked_crc32c(data) == pywrap_tensorflow.masked_crc32c(data)
