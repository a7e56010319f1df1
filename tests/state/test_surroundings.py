"""Settings, the surroundings, and handles that hold a little state."""

from __future__ import annotations

import contextvars
import decimal
import logging
import os
import queue
import sqlite3
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tqdm import tqdm

from flor.state import differences
from flor.state.settings import SURROUNDINGS
from tests.state.conftest import Trip


def test_settings_are_put_back(trip: Trip) -> None:
    before = [np.get_printoptions()["precision"], torch.get_default_dtype(), decimal.getcontext().prec]
    limit = sys.getrecursionlimit()

    def change() -> None:
        np.set_printoptions(precision=2)
        torch.set_default_dtype(torch.float64)
        torch.set_printoptions(precision=9)
        decimal.getcontext().prec = 5
        sys.setrecursionlimit(limit + 7)
        np.seterr(divide="raise")
        logging.getLogger("flor.tests.x").setLevel(logging.ERROR)

    logging.getLogger("flor.tests.x").setLevel(logging.INFO)
    trip.after({"s": {}}, change)
    assert [np.get_printoptions()["precision"], torch.get_default_dtype(), decimal.getcontext().prec] == before
    assert torch._tensor_str.PRINT_OPTS.precision == 4
    assert sys.getrecursionlimit() == limit
    assert np.geterr()["divide"] == "warn"
    assert logging.getLogger("flor.tests.x").level == logging.INFO


def test_the_grad_mode_is_put_back(trip: Trip) -> None:
    with torch.enable_grad():
        snapshot = trip.through_bytes(trip.take({"s": {}}))
        torch.set_grad_enabled(False)
        trip.put(snapshot, {"s": {}})
        assert torch.is_grad_enabled()


def test_a_changed_setting_is_a_difference(trip: Trip) -> None:
    before = trip.take({"s": {}})
    np.set_printoptions(precision=3)
    try:
        found = differences(before, trip.take({"s": {}}))
    finally:
        np.set_printoptions(precision=8)
    assert [difference.path for difference in found] == ["world:settings.numpy_print"]


def test_the_folder_and_changed_variables_are_put_back(
    trip: Trip, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLOR_TEST_PHASE", "one")
    monkeypatch.setenv("FLOR_TEST_API_KEY", "sesame")
    here = os.getcwd()

    def change() -> None:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("FLOR_TEST_PHASE", "two")

    snapshot = trip.take({"s": {}})
    assert not any("sesame" in str(node.attrs) for node in snapshot.nodes)
    change()
    assert differences(snapshot, trip.take({"s": {}})) == []
    trip.put(trip.through_bytes(snapshot), {"s": {}})
    assert (os.getcwd(), os.environ["FLOR_TEST_PHASE"]) == (here, "one")


def test_the_place_in_a_file_that_is_read_is_put_back(trip: Trip, tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_text("one\ntwo\nthree\n")
    with path.open() as file:
        file.readline()
        trip.after({"s": {"file": file}}, file.read)
        assert file.readline() == "two\n"


def test_what_waits_in_a_buffer_is_on_disk_when_a_checkpoint_is_taken(trip: Trip, tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("w") as file:
        file.write("a line")
        trip.take({"s": {"file": file}})
        assert path.read_text() == "a line"


def test_a_bar_counts_on(trip: Trip) -> None:
    bar = tqdm(total=9, disable=True)
    bar.n = 4
    trip.after({"s": {"bar": bar}}, lambda: setattr(bar, "n", 8))
    assert bar.n == 4


def test_context_variables_and_thread_locals_are_state(trip: Trip) -> None:
    phase: contextvars.ContextVar[Any] = contextvars.ContextVar("phase")
    phase.set([1])
    own = threading.local()
    own.count = 3

    def change() -> None:
        phase.set([2])
        own.count, own.more = 4, 5

    trip.after({"s": {"phase": phase, "own": own}}, change)
    assert phase.get() == [1]
    assert own.__dict__ == {"count": 3}


def test_a_queue_is_state(trip: Trip) -> None:
    waiting: queue.Queue[int] = queue.Queue()
    waiting.put(1)
    trip.after({"s": {"waiting": waiting}}, lambda: waiting.put(2))
    assert list(waiting.queue) == [1]
    assert waiting.unfinished_tasks == 1


def test_what_works_on_its_own_is_refused(trip: Trip) -> None:
    stop = threading.Event()
    thread = threading.Thread(target=_wait, args=(stop,))
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    database = sqlite3.connect(":memory:")
    database.execute("create table t (a)")
    held = {"thread": thread, "child": child, "database": database}
    assert not trip.take({"s": {"database": database, "thread": thread}}).refusals
    thread.start()
    database.execute("insert into t values (1)")
    try:
        refused = {refusal.path for refusal in trip.take({"s": held}).refusals}
    finally:
        stop.set()
        thread.join()
        child.communicate(b"\n")
        database.rollback()
        database.close()
    assert refused == {"s:thread", "s:child", "s:database"}
    assert not trip.take({"s": {"thread": thread, "child": child}}).refusals


def _wait(stop: threading.Event) -> None:
    stop.wait()


def test_a_deleted_variable_stays_deleted_and_a_new_one_goes(trip: Trip, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SURROUNDINGS, "first", {**os.environ, "FLOR_TEST_OLD": "1", "FLOR_TEST_KEPT": "1"})
    monkeypatch.delenv("FLOR_TEST_OLD", raising=False)
    monkeypatch.setenv("FLOR_TEST_KEPT", "1")

    def change() -> None:
        monkeypatch.setenv("FLOR_TEST_OLD", "2")
        monkeypatch.setenv("FLOR_TEST_LATER", "2")
        monkeypatch.delenv("FLOR_TEST_KEPT")

    trip.after({"s": {}}, change)
    assert "FLOR_TEST_OLD" not in os.environ and "FLOR_TEST_LATER" not in os.environ
    assert os.environ["FLOR_TEST_KEPT"] == "1"


def test_functions_and_filters_that_libraries_were_given_are_put_back(trip: Trip) -> None:
    filters = list(warnings.filters)

    def change() -> None:
        np.set_printoptions(formatter={"float": str})
        np.seterrcall(print)
        warnings.simplefilter("always", ResourceWarning)

    try:
        trip.after({"s": {}}, change)
        assert np.get_printoptions()["formatter"] is None and np.geterrcall() is None
        assert warnings.filters == filters
    finally:
        np.set_printoptions(formatter=None)
        np.seterrcall(None)
