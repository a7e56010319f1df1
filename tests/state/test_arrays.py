"""Numpy arrays: bytes, views, flags, identity."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


@pytest.mark.parametrize("dtype", ["f8", "f4", "i2", "?", "c16", "U3", "S2", ">f4", "M8[D]", "f2"])
def test_each_dtype_is_restored_in_place(dtype: str, trip: Any) -> None:
    x = np.zeros(4, dtype=dtype)
    x[1] = 1
    expected = x.tobytes()
    values = trip.after({"s": {"x": x}}, lambda: x.fill(0))
    assert values["x"] is x and x.tobytes() == expected


def test_views_share_their_base_again(trip: Any) -> None:
    base = np.arange(6.0)
    saved = trip.through_bytes(trip.take({"s": {"base": base, "back": base[::-1], "mid": base[2:4].reshape(2, 1)}}))
    values = trip.put(saved, {"s": {}}).values["s"]
    values["base"][:] += 10
    assert values["back"].tolist() == [15, 14, 13, 12, 11, 10] and values["mid"].tolist() == [[12], [13]]


def test_read_only_arrays_stay_read_only(trip: Any) -> None:
    x = np.frombuffer(b"12345678", dtype="u1")
    values = trip.after({"s": {"x": x}}, lambda: None)
    assert values["x"].tolist() == list(b"12345678") and not values["x"].flags.writeable


def test_read_only_memory_is_never_written(trip: Any) -> None:
    saved = trip.through_bytes(trip.take({"s": {"x": np.frombuffer(b"12345678", dtype="u1")}}))
    other = b"abcdefgh"
    values = trip.put(saved, {"s": {"x": np.frombuffer(other, dtype="u1")}}).values["s"]
    assert other == b"abcdefgh" and values["x"].tobytes() == b"12345678"


def test_arrays_of_objects_keep_their_elements(trip: Any) -> None:
    inner = [1]
    x = np.array([inner, None, "a"], dtype=object)
    trip.after({"s": {"x": x, "inner": inner}}, lambda: x.fill(0))
    assert x[0] is inner and x[2] == "a"


def test_a_memory_map_is_left_alone(trip: Any, tmp_path: Any) -> None:
    np.arange(4, dtype="u1").tofile(tmp_path / "data.bin")
    mapped = np.memmap(tmp_path / "data.bin", dtype="u1", mode="r")
    snapshot = trip.take({"s": {"x": mapped}})
    assert snapshot.nbytes < 100_000 and not snapshot.refusals
    assert trip.put(trip.through_bytes(snapshot), {"s": {"x": mapped}}).values["s"]["x"] is mapped
    anew = trip.put(trip.through_bytes(snapshot), {"s": {}}).values["s"]["x"]
    assert anew.tolist() == [0, 1, 2, 3]
    writable = np.memmap(tmp_path / "data.bin", dtype="u1", mode="r+")
    assert trip.take({"s": {"x": writable}}).refusals


def test_numpy_scalars_keep_their_type(trip: Any) -> None:
    saved = trip.through_bytes(trip.take({"s": {"a": np.float32(0.1), "b": np.float64(0.1), "c": np.bool_(True)}}))
    values = trip.put(saved, {"s": {}}).values["s"]
    assert values["a"] == np.float32(0.1) and type(values["a"]) is np.float32
    assert type(values["b"]) is np.float64 and type(values["c"]) is np.bool_
