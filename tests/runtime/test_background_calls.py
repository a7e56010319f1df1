"""Any logger in the background: its calls are done in order, on what they were given, and nothing fails silently."""

from __future__ import annotations

import csv
import io
import logging
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy
import pytest
import torch

import flor
from flor.errors import LoggerClosed, ResultNeeded, UsageError
from flor.runtime.background.calls import Call
from flor.runtime.background.thread import ThreadLane


class Notebook:
    """A user's logger."""

    def __init__(self) -> None:
        self.lines: list[Any] = []
        self.threads: set[int] = set()
        self.gate = threading.Event()
        self.gate.set()
        self.closed = False

    def write(self, *values: Any, **named: Any) -> str:
        self.gate.wait()
        self.threads.add(threading.get_ident())
        self.lines.append((values, named) if named else values)
        return f"line {len(self.lines)}"

    def fail(self, what: str) -> None:
        raise KeyError(what)

    def twice(self, value: Any) -> None:
        self.write(value)
        self.write(value)

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def notebook() -> Iterator[Notebook]:
    made = Notebook()
    yield made
    made.gate.set()


def test_calls_are_done_in_order_on_another_thread(notebook: Notebook) -> None:
    book = flor.background(notebook)
    for i in range(200):
        book.write(i)
    book.flush()
    assert notebook.lines == [(i,) for i in range(200)]
    assert threading.get_ident() not in notebook.threads


def test_arguments_are_those_of_the_call_also_deep_within(notebook: Notebook) -> None:
    book = flor.background(notebook)
    notebook.gate.clear()
    tensor, array, items = torch.zeros(3), numpy.zeros(3), [1]
    book.write({"t": [tensor], "n": (array,)}, items, key=tensor)
    tensor += 1
    array += 1
    items.append(2)
    notebook.gate.set()
    book.flush()
    (given, kept), named = notebook.lines[0]
    assert given["t"][0].tolist() == given["n"][0].tolist() == named["key"].tolist() == [0, 0, 0]
    assert kept == [1]


def test_a_snapshot_belongs_to_the_logger_for_good(notebook: Notebook) -> None:
    book = flor.background(notebook)
    for i in range(50):
        book.write(torch.full((1000,), float(i)))
    book.flush()
    assert [line[0][0].item() for line in notebook.lines] == list(range(50))


def test_a_parameter_stays_one_that_needs_grad_and_a_view_keeps_its_numbers(notebook: Notebook) -> None:
    book = flor.background(notebook)
    weight = torch.nn.Parameter(torch.arange(6.0).reshape(2, 3))
    book.write(weight, weight.t(), (weight * 2).sum())
    book.flush()
    first, view, total = notebook.lines[0]
    assert first.requires_grad
    assert torch.equal(view, weight.t())
    assert total.item() == 30


def test_what_cannot_be_snapshotted_is_done_at_once_in_order_and_said_once(
    notebook: Notebook, capsys: pytest.CaptureFixture[str]
) -> None:
    book = flor.background(notebook)
    live = SimpleNamespace(x=1)
    book.write(1)
    assert book.write(live) == "line 2"
    book.write(live)
    assert [line[0] for line in notebook.lines] == [1, live, live]
    assert capsys.readouterr().err.count("[called-at-once]") == 1


def test_a_list_that_holds_itself_is_done_at_once(notebook: Notebook) -> None:
    circle: list[Any] = []
    circle.append(circle)
    flor.background(notebook).write(circle)
    assert notebook.lines[0][0] is circle


def test_what_raises_is_told_with_the_line_of_the_call_and_the_rest_goes_on(
    notebook: Notebook, capsys: pytest.CaptureFixture[str]
) -> None:
    book = flor.background(notebook)
    book.fail("ink")  # this line is named
    book.write("after")
    book.flush()
    said = capsys.readouterr().err
    line = Path(__file__).read_text().splitlines().index('    book.fail("ink")  # this line is named') + 1
    assert f"Notebook.fail(), called at {__file__}:{line}, raised KeyError: 'ink' [background-failed]" in said
    assert "in fail" in said
    assert notebook.lines == [("after",)]


def test_of_many_failures_some_are_shown_and_all_are_counted(
    notebook: Notebook, capsys: pytest.CaptureFixture[str]
) -> None:
    book = flor.background(notebook)
    for i in range(30):
        book.fail(str(i))
    book.close()
    said = capsys.readouterr().err
    assert said.count("called at") == 10
    assert "30 calls of Notebook raised" in said


def test_a_call_after_close_is_a_clear_error(notebook: Notebook) -> None:
    book = flor.background(notebook)
    book.write(1)
    book.close()
    book.close()
    assert notebook.closed
    with pytest.raises(LoggerClosed, match=rf"write\(\) was called after close\(\) at .*{Path(__file__).name}"):
        book.write(2)
    with pytest.raises(LoggerClosed):
        book.flush()
    assert notebook.lines == [(1,)]


def test_who_needs_a_result_is_told_how_to_have_it(notebook: Notebook) -> None:
    result = flor.background(notebook).write(1)
    assert "not waited for" in repr(result)
    for use in (bool, str, len, list, lambda r: r.upper(), lambda r: r + "x", lambda r: r == "line 1", lambda r: r[0]):
        with pytest.raises(ResultNeeded, match=r"wait=\['write'\]"):
            use(result)


def test_a_method_that_is_waited_for_gives_its_result(notebook: Notebook) -> None:
    book = flor.background(notebook, wait=["write"])
    book.twice(0)
    assert book.write(1) == "line 3"


def test_an_attribute_is_read_after_the_calls_before_it(notebook: Notebook) -> None:
    book = flor.background(notebook)
    book.write(1)
    assert book.lines == [(1,)]
    book.extra = 5
    assert notebook.extra == 5  # type: ignore[attr-defined]


def test_memory_is_bounded_the_caller_waits(notebook: Notebook) -> None:
    notebook.gate.clear()
    lane = ThreadLane("Notebook", memory=100_000)
    sent: list[int] = []

    def send() -> None:
        for i in range(20):
            lane.send(Call("write", notebook.write, (torch.zeros(5000),), {}, "here"))
            sent.append(i)

    sender = threading.Thread(target=send)
    sender.start()
    sender.join(0.3)
    assert sender.is_alive()
    assert len(sent) <= 5
    notebook.gate.set()
    sender.join()
    lane.wait()
    assert len(notebook.lines) == 20


def test_one_call_may_be_larger_than_the_bound(notebook: Notebook) -> None:
    book = flor.background(notebook, memory=10)
    book.write(torch.zeros(1000))
    book.write(torch.zeros(1000))
    book.flush()
    assert len(notebook.lines) == 2


def test_a_csv_writer_needs_no_close() -> None:
    text = io.StringIO()
    rows = flor.background(csv.writer(text))
    for i in range(3):
        rows.writerow([i, i * i])
    rows.writerows([["a", "b"]])
    rows.close()
    assert text.getvalue().split() == ["0,0", "1,1", "2,4", "a,b"]


def test_a_logging_handler_formats_what_was_said_then(tmp_path: Path) -> None:
    handler = flor.background(logging.FileHandler(tmp_path / "log"))
    handler.setLevel(logging.INFO)
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    log = logging.Logger("train")
    log.addHandler(handler)
    seen: list[int] = []
    for i in range(3):
        seen.append(i)
        log.info("seen %s", seen)
        log.debug("not this")
    handler.close()
    assert (tmp_path / "log").read_text() == "INFO seen [0]\nINFO seen [0, 1]\nINFO seen [0, 1, 2]\n"


def test_a_context_closes_the_logger(notebook: Notebook) -> None:
    with flor.background(notebook) as book:
        book.write(1)
    assert notebook.closed
    assert notebook.lines == [(1,)]


def test_a_logger_is_wrapped_once(notebook: Notebook) -> None:
    with pytest.raises(UsageError, match="already"):
        flor.background(flor.background(notebook))


def test_a_module_whose_run_belongs_to_a_thread_is_told_the_run() -> None:
    """As in mlflow, where a call on another thread would begin a run of its own."""
    logged: list[Any] = []
    tracker = ModuleType("tracker")
    vars(tracker).update(
        active_run=lambda: SimpleNamespace(info=SimpleNamespace(run_id="r1")),
        log_metric=lambda key, value, run_id=None: logged.append((key, value, run_id, threading.get_ident())),
        log_param=lambda key, value: logged.append((key, value, threading.get_ident())),
    )
    wrapped = flor.background(tracker)
    wrapped.log_metric("loss", 0.5)
    wrapped.log_param("lr", 0.1)
    wrapped.close()
    assert logged[0][:3] == ("loss", 0.5, "r1")
    assert logged[0][3] != threading.get_ident()
    assert logged[1] == ("lr", 0.1, threading.get_ident())


def test_the_end_of_the_script_waits_and_its_exit_code_stays(tmp_path: Path) -> None:
    script = (
        "import flor, time, sys\n"
        "class Slow:\n"
        "    def put(self, i):\n"
        "        time.sleep(0.02); print(i, flush=True)\n"
        "slow = flor.background(Slow())\n"
        "for i in range(10): slow.put(i)\n"
        "sys.exit(3)\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path)
    assert ended.stdout.split() == [str(i) for i in range(10)]
    assert (ended.returncode, ended.stderr) == (3, "")


def test_a_forked_process_calls_the_logger_itself(notebook: Notebook) -> None:
    lane = ThreadLane("Notebook", memory=1000)
    lane._process = -1  # as it is in a forked process
    assert not lane.send(Call("write", notebook.write, (1,), {}, "here"))
    lane.wait()
