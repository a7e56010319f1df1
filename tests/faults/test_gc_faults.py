"""Whatever system call of a sweep is the last or fails: what is left is whole, and the next sweep ends the work."""

from __future__ import annotations

import compileall
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest

import flor.errors
from flor.errors import FlorError
from flor.store.fsck import check_store
from flor.store.layout import Layout
from flor.store.run import list_runs

sys.path.append(str(Path(__file__).parent.parent / "store"))

from checkpointed import CheckpointedRun, contents, readable

COLLECTOR = Path(__file__).with_name("collector.py")
CHANGES = {"openat", "write", "fsync", "rename", "renameat", "mkdir", "flock", "unlink", "unlinkat", "rmdir"}
KILLED = {-signal.SIGKILL, 128 + signal.SIGKILL}
Call = tuple[str, int]


@dataclass(frozen=True)
class Strace:
    """A sweep under strace, of a store of its own each time."""

    folder: Path
    numbers: Iterator[int] = field(default_factory=count)

    def store(self) -> Layout:
        """Two runs: the first is to be removed; of the second packs are to be deleted, and one is to be rewritten."""
        layout = Layout(self.folder / f"s{next(self.numbers)}" / ".flor")
        layout.root.parent.mkdir()
        for name in ("old", "new"):
            run = CheckpointedRun(layout, name)
            for number in range(5):
                run.add(*(["late"] if number >= 1 else []), f"own-{number}")
            run.end()
        return layout

    def sweep(self, layout: Layout, *options: str) -> int:
        """The exit code."""
        command = ["strace", "-f", "-o", str(layout.root.parent / "trace"), *options]
        command += [sys.executable, "-S", str(COLLECTOR), str(layout.root)]
        found = os.pathsep.join([str(self.folder / "code"), *(path for path in sys.path if path)])
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": found, "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(command, capture_output=True, env={**environment, "PYTHONHASHSEED": "0"}).returncode

    def calls(self) -> list[Call]:
        """The calls of an undisturbed sweep that touch its store and may change it."""
        self.sweep(self.store())  # so that nothing is cached for the first time below
        layout = self.store()
        assert self.sweep(layout, "-y", "-e", "trace=%file,%desc") == 0
        seen: dict[str, int] = {}
        found = []
        for line in (layout.root.parent / "trace").read_text().splitlines():
            match = re.match(r"\d+ +(\w+)\(", line)
            if match is not None:
                seen[match[1]] = seen.get(match[1], 0) + 1
                if str(layout.root) in line and match[1] in CHANGES:
                    found.append((match[1], seen[match[1]]))
        return found

    def disturbed(self, call: Call, how: str) -> tuple[Layout, int]:
        """A sweep in which that call meets its fate."""
        name, number = call
        layout = self.store()
        return layout, self.sweep(layout, "-e", f"trace={name}", "-e", f"inject={name}:{how}:when={number}")


@pytest.fixture(scope="module")
def strace(tmp_path_factory: pytest.TempPathFactory) -> Strace:
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    tracer = Strace(tmp_path_factory.mktemp("gc"))
    code, package = tracer.folder / "code" / "flor", Path(flor.errors.__file__).parent
    for room in ("model", "store"):  # a copy: calls are counted, so no edit may come between two sweeps
        shutil.copytree(package / room, code / room, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(package / "errors.py", code / "errors.py")
    (code / "__init__.py").touch()
    assert compileall.compile_dir(code, quiet=1)
    if tracer.sweep(tracer.store()) != 0:
        pytest.skip("strace may not trace here")
    return tracer


@pytest.fixture(scope="module")
def calls(strace: Strace) -> list[Call]:
    return strace.calls()


@pytest.fixture(scope="module")
def swept(strace: Strace) -> set[str]:
    """The files that an undisturbed sweep leaves."""
    layout = strace.store()
    assert strace.sweep(layout) == 0
    return set(contents(layout))


def complaints(strace: Strace, layout: Layout, swept: set[str]) -> list[str]:
    """What is wrong with a store after a sweep that did not come to its end, and after the next one."""
    try:
        found = [f"{each.path.name}: {each.what}" for each in check_store(layout) if each.severity == "damage"]
        for run in list_runs(layout):
            found += [f"{run.name}: {graph} is not whole" for graph, whole in readable(run).items() if not whole]
        if "new" not in {run.name for run in list_runs(layout)}:
            found.append("the run that was to be kept is gone")
        if strace.sweep(layout) != 0 or set(contents(layout)) != swept or check_store(layout):
            found.append(f"the next sweep leaves {sorted(set(contents(layout)) ^ swept)}")
    except (FlorError, OSError) as error:
        return [f"{type(error).__name__}: {error}"]
    return found


def each(points: list[Call], check: Callable[[Call], list[str]]) -> list[str]:
    with ThreadPoolExecutor(2) as pool:
        return [complaint for found in pool.map(check, points) for complaint in found]


def test_a_sweep_makes_the_calls_that_are_worth_a_fault(calls: list[Call]) -> None:
    assert {"openat", "write", "fsync", "rename", "mkdir", "flock", "unlink"} <= {name for name, _ in calls}


@pytest.mark.long
def test_kill_at_every_call_leaves_a_store_that_is_whole(strace: Strace, calls: list[Call], swept: set[str]) -> None:
    def check(call: Call) -> list[str]:
        layout, code = strace.disturbed(call, "signal=SIGKILL")
        alive = [] if code in KILLED else ["it was not killed"]
        return [f"{call}: {each}" for each in alive + complaints(strace, layout, swept)]

    assert len(calls) > 30
    assert each(calls, check) == []


@pytest.mark.long
@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
def test_an_error_at_every_call_leaves_a_store_that_is_whole(
    strace: Strace, calls: list[Call], swept: set[str], error: str
) -> None:
    def check(call: Call) -> list[str]:
        layout, _ = strace.disturbed(call, f"error={error}")
        return [f"{call}: {each}" for each in complaints(strace, layout, swept)]

    assert each(calls, check) == []
