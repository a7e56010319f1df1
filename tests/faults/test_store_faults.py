"""Whatever system call of the store is the last or fails: what was acknowledged is there, and training goes on."""

from __future__ import annotations

import compileall
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

import flor.errors
from flor.errors import FlorError
from flor.model.records import Note
from flor.store.fsck import check_store
from flor.store.index import Index
from flor.store.layout import Layout
from flor.store.packreader import read_pack
from flor.store.reader import read_journal
from flor.store.run import create_run, list_runs

RECORDER = Path(__file__).with_name("recorder.py")
WHOLE_STDOUT = "step 0\nstep 1\nstep 2\ndone\n"
CHANGES = {
    "openat",
    "write",
    "pwrite64",
    "ftruncate",
    "fsync",
    "fdatasync",
    "rename",
    "mkdir",
    "flock",
    "close",
    "dup3",
}
KILLED = {-signal.SIGKILL, 128 + signal.SIGKILL}


@dataclass(frozen=True)
class Call:
    """The n-th call of that name in the process, which touches the store."""

    name: str
    number: int


@dataclass(frozen=True)
class Outcome:
    """What a run of the recorder did and promised."""

    code: int
    stdout: str
    stderr: str
    acknowledged: list[str]


@dataclass(frozen=True)
class Strace:
    """The recorder under strace, in a folder of its own each time."""

    folder: Path

    def run(self, store: Path, *options: str) -> Outcome:
        read_end, write_end = os.pipe()
        command = ["strace", "-f", "-o", str(store.parent / "trace"), *options]
        command += [sys.executable, "-S", str(RECORDER), str(store), str(write_end)]
        with os.fdopen(read_end) as acknowledged:
            done = subprocess.run(command, capture_output=True, text=True, env=self.environment(), pass_fds=[write_end])
            os.close(write_end)
            return Outcome(done.returncode, done.stdout, done.stderr, acknowledged.read().split())

    def environment(self) -> dict[str, str]:
        """The same system calls each time: nothing compiled, no site, no hash seed; coverage stays out of it."""
        found = os.pathsep.join([str(self.folder / "code"), *(path for path in sys.path if path)])
        return {"PATH": os.environ["PATH"], "PYTHONPATH": found, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}

    def fresh(self, name: str) -> Path:
        """The path of a store that is not there yet."""
        folder = self.folder / name
        folder.mkdir()
        return folder / ".flor"

    def calls(self) -> list[Call]:
        """The calls of an undisturbed run that touch its store, in order."""
        self.run(self.fresh("warm"))  # so that nothing is compiled or cached for the first time below
        store = self.fresh("traced")
        outcome = self.run(store, "-y", "-e", "trace=%file,%desc")
        assert (outcome.code, outcome.stdout) == (0, WHOLE_STDOUT)
        assert outcome.acknowledged == ["0", "1", "2", "pack", "sealed"]
        trace = (store.parent / "trace").read_text()
        assert f"{self.folder}/code/flor/store" in trace
        assert str(Path(flor.errors.__file__).parent) not in trace
        return _touching(store, trace)

    def disturbed(self, call: Call, how: str) -> tuple[Path, Outcome]:
        """A run in which that call meets its fate."""
        store = self.fresh(f"{call.name}-{call.number}-{how.partition('=')[2]}")
        inject = f"inject={call.name}:{how}:when={call.number}"
        quick = ["--seccomp-bpf"] if how.startswith("error") else []  # with it, strace injects no signals
        return store, self.run(store, *quick, "-e", f"trace={call.name}", "-e", inject)


def _freeze(code: Path) -> None:
    """A compiled copy of the store and what it imports: calls are counted, so no edit may come between two runs."""
    package = Path(flor.errors.__file__).parent
    for room in ("model", "store"):
        shutil.copytree(package / room, code / "flor" / room, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(package / "errors.py", code / "flor" / "errors.py")
    (code / "flor" / "__init__.py").touch()  # a regular package, or the one further down the path is taken
    assert compileall.compile_dir(code, quiet=1)


def _touching(store: Path, trace: str) -> list[Call]:
    seen: dict[str, int] = {}
    calls = []
    for line in trace.splitlines():
        match = re.match(r"\d+ +(\w+)\(", line)
        if match is None:
            continue
        name = match[1]
        seen[name] = seen.get(name, 0) + 1
        if str(store) in line:
            calls.append(Call(name, seen[name]))
    return calls


@pytest.fixture(scope="session")
def strace(tmp_path_factory: pytest.TempPathFactory) -> Strace:
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    tracer = Strace(tmp_path_factory.mktemp("faults"))
    _freeze(tracer.folder / "code")
    if tracer.run(tracer.fresh("probe")).code != 0:
        pytest.skip("strace may not trace here")
    return tracer


@pytest.fixture(scope="session")
def calls(strace: Strace) -> list[Call]:
    return strace.calls()


def each(points: list[Call], check: Callable[[Call], list[str]]) -> list[str]:
    """Every complaint of every point; two at a time."""
    with ThreadPoolExecutor(2) as pool:
        return [complaint for found in pool.map(check, points) for complaint in found]


def complaints(store: Path, outcome: Outcome) -> list[str]:
    """What is wrong with a store, given what its recorder acknowledged."""
    layout = Layout(store)
    try:
        found = [
            f"{finding.path.name}: {finding.what}" for finding in check_store(layout) if finding.severity == "damage"
        ]
        Index(layout).runs()
        lost = set(outcome.acknowledged) - present(layout)
        create_run(layout, "the-next").fragment(0, 2).close()
    except (FlorError, OSError) as error:
        return [f"{type(error).__name__}: {error}"]
    return found + [f"{each} was acknowledged and is lost" for each in lost]


def present(layout: Layout) -> set[str]:
    """Everything in the store, in the words of the recorder."""
    found = set()
    for run in list_runs(layout):
        for path in run.fragments():
            reader = read_journal(path)
            found |= {str(record.values["step"]) for record in reader if isinstance(record, Note)}
            found |= {"sealed"} if reader.status == "sealed" and not reader.damage else set()
        for path in run.packs.glob("*.safetensors"):
            with read_pack(path) as pack:
                found |= {"pack"} if pack.verify() == [] else set()
    return found


def test_the_recorder_makes_the_calls_that_are_worth_a_fault(calls: list[Call]) -> None:
    names = {call.name for call in calls}
    assert {"openat", "write", "fsync", "fdatasync", "rename", "mkdir", "flock"} <= names


@pytest.mark.slow
def test_kill_at_every_call_loses_nothing_that_was_acknowledged(strace: Strace, calls: list[Call]) -> None:
    def check(call: Call) -> list[str]:
        store, outcome = strace.disturbed(call, "signal=SIGKILL")
        alive = [] if outcome.code in KILLED else ["it was not killed"]
        return [f"{call}: {each}" for each in alive + complaints(store, outcome)]

    points = [call for call in calls if call.name in CHANGES]
    assert len(points) > 40
    assert each(points, check) == []


@pytest.mark.slow
@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
def test_an_error_at_every_call_does_not_reach_the_training(strace: Strace, calls: list[Call], error: str) -> None:
    def check(call: Call) -> list[str]:
        store, outcome = strace.disturbed(call, f"error={error}")
        ended = (outcome.code, outcome.stdout, outcome.stderr)
        disturbed = [] if ended == (0, WHOLE_STDOUT, "") else [f"training ended with {ended}"]
        if "(INJECTED)" not in (store.parent / "trace").read_text():
            disturbed.append("the call did not fail")
        return [f"{call}: {each}" for each in disturbed + complaints(store, outcome)]

    points = [call for call in calls if call.name != "execve" and (error == "EIO" or call.name in CHANGES)]
    assert len(points) > 40
    assert each(points, check) == []
