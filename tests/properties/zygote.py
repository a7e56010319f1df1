"""A process that has torch, numpy and flor imported and has run no kernel: each step of a test is a fork of it.

Starting Python with torch takes seconds, forking takes milliseconds. The first half of this file runs in the
test, the second half (`serve`) in the zygote and in its forks, where flor's own entry points are called.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace, TracebackType
from typing import Any, NoReturn

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Ran:
    """What a step printed, and its exit code."""

    stdout: str
    stderr: str
    code: int


class Zygote:
    """The test's side: asks for steps, one after the other."""

    def __init__(self, *modules: str) -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
        self.process = subprocess.Popen(
            [sys.executable, __file__, *modules],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )
        self.steps = 0

    def step(self, name: str, folder: Path, *, bug: str | None = None, stdin: str = os.devnull, **facts: Any) -> Ran:
        """Run a step in a folder and wait for it; a bug is put into flor first, if one is named."""
        self.steps += 1
        out = folder.parent / f"{folder.name}.{name}"
        asked = {"step": name, "folder": str(folder), "out": str(out), "bug": bug, "stdin": stdin, "facts": facts}
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        texts = [Path(f"{out}.{stream}").read_bytes().decode(errors="replace") for stream in ("stdout", "stderr")]
        return Ran(texts[0], texts[1], int(answer["code"]))

    def __enter__(self) -> Zygote:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


# -- the zygote itself -------------------------------------------------------------------------------

LIMIT = 60.0  # seconds that one step may take
LATE = 124  # exit code of one that took longer


def serve() -> None:
    """Fork a child for each line that asks for a step, and answer with its exit code."""
    _import_everything()
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        asked = json.loads(line)
        child = os.fork()
        if not child:
            _child(asked)
        answers.write(json.dumps({"code": _wait(child)}) + "\n")
        answers.flush()


def _import_everything() -> None:
    """All that a step needs, so that its fork need not read it."""
    import gc
    import importlib

    import numpy.random  # noqa: F401
    import torch._dynamo
    import torch.optim.swa_utils
    import torch.utils.data  # noqa: F401

    import flor.cli
    import flor.record
    import flor.replay.report
    import flor.replay.verb
    import flor.replay.worker
    import flor.resume.process  # noqa: F401

    sys.path.insert(0, str(HERE))
    for name in sys.argv[1:]:
        importlib.import_module(name)
    gc.freeze()


def _wait(child: int) -> int:
    """The child's exit code; one that takes too long is ended."""
    end = time.monotonic() + LIMIT
    pause = 0.0005
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(pause)
        pause = min(0.005, pause * 1.2)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return LATE


def _child(asked: dict[str, Any]) -> NoReturn:
    """One step, in a process group and a folder of its own, as if Python had been started for it."""
    os.setsid()
    os.chdir(asked["folder"])
    for number, stream in ((1, "stdout"), (2, "stderr")):
        opened = os.open(f"{asked['out']}.{stream}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(opened, number)
        os.close(opened)
    os.dup2(os.open(asked["stdin"], os.O_RDONLY), 0)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115  the zygote's own has read ahead
    sys.stdout.reconfigure(line_buffering=False)  # type: ignore[union-attr]
    if asked["bug"]:
        from seeded import BUGS

        BUGS[asked["bug"]].plant()
    _leave(lambda: STEPS[asked["step"]](**asked["facts"]))


def _leave(work: Callable[[], None]) -> NoReturn:
    """Do the work and end as Python does, without the zygote's own end."""
    code = 0
    try:
        work()
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        code = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


# -- the steps, each in a fork ---------------------------------------------------------------------------


def plain(script: str = "train.py", logs: str | None = None) -> None:
    """The script without flor; what it gives to `flor.log` goes to a file, as a replay's does."""
    import flor
    from flor.state.values import encode_value

    kept: list[Any] = []

    def log(name: str, value: Any) -> Any:
        kept.append([name, *_plain(encode_value(value))])
        return value

    if logs is not None:
        flor.log = log
        atexit.register(lambda: Path(logs).write_text(json.dumps(kept)))
    module = ModuleType("__main__")
    module.__dict__.update(__file__=str(Path(script).absolute()), __builtins__=__builtins__)
    sys.modules["__main__"] = module
    sys.argv[:] = [script]
    sys.path.insert(0, os.getcwd())
    exec(compile(Path(script).read_text(), module.__file__ or "", "exec", dont_inherit=True), module.__dict__)


def record(command: tuple[str, ...] = ("train.py",), often: bool = True) -> None:
    """`flor record`; `often` takes a checkpoint wherever one may be taken, however short the loop."""
    from flor.record import Request, prepare

    if often:
        take_them_all()
    is_module = command[0] == "-m"
    script, module = (None, command[1]) if is_module else (command[0], None)
    arguments = tuple(command[1 + is_module :])
    tolerance = float("inf") if often else 10.0
    prepare(Request(script, module, arguments, tolerance=tolerance, hash_seed="0")).run_script()


def take_them_all() -> None:
    """What is worth a checkpoint is not tested here: the budget must not decide which ones there are."""
    from flor.runtime import density, recording, writer

    recording.NOTED = recording.FIRST_GUESS = 0.0
    density.WORTH = 0.0
    density.BESIDE = 1e3
    writer.STAGED = 10_000


def replay(workers: int, result: str) -> None:
    """`flor replay --all`, with workers that are forks of this process; what comes of it goes to a file."""
    from flor.errors import FlorError
    from flor.model.records import Channel
    from flor.query.runs import run
    from flor.replay.executors import local
    from flor.replay.verb import Replay, Wish

    shim: Any = SimpleNamespace(Popen=Fork, DEVNULL=subprocess.DEVNULL)
    vars(local)["subprocess"] = shim
    try:
        done = Replay(run(), Wish(workers=workers)).perform()
    except FlorError as error:
        Path(result).write_text(json.dumps({"exit": 1, "said": str(error)}))
        return
    if done.error is not None:
        Path(result).write_text(json.dumps({"exit": 1, "said": str(done.error)}))
        return
    records = [merged.record for merged in done.merged]
    found = {
        "exit": 0 if done.exact else 3,
        "said": "; ".join(map(str, [*done.warnings, *done.findings.divergences[:2]])),
        "told": done.told,
        "again": [str(note) for note in done.notes],
        "stdout": b"".join(record.data for record in records if record.channel is Channel.STDOUT).decode(),
        **{
            origin: b"".join(
                merged.record.data
                for merged in done.merged
                if merged.origin == origin and merged.record.channel is Channel.STDOUT
            ).decode()
            for origin in ("recorded", "hindsight")
        },
        "logs": [[r.name, int(r.tag), r.data.hex()] for r in records if r.channel is Channel.FLOR],
        "checked": done.findings.checkpoints,
        "restored": done.restored,
    }
    Path(result).write_text(json.dumps(found))


def worker(order: str, awake: bool = False) -> None:
    """A worker of a replay, which ends the process itself; `awake` if it need not sleep where the script does."""
    from flor.replay import worker as module

    if awake:
        time.sleep = lambda _: None
    sys.argv[:] = [module.__file__ or "", order]
    module.main()


def resume(order: str | None = None) -> None:
    """`flor resume` of the only run, in this process; a further try is a fork."""
    from flor.query.runs import run
    from flor.resume import process
    from flor.resume.order import ResumeOrder

    found = run()
    chosen = ResumeOrder.parse(order) if order else ResumeOrder(found.name, str(found.folder.path.parent.parent))
    vars(process)["become"] = lambda _, again: _leave(lambda: _in_fork(lambda: resume(again.text())))
    sys.argv[:] = [process.__file__ or "", chosen.handed_on()]
    process.main()


def _in_fork(work: Callable[[], None]) -> None:
    child = os.fork()
    if not child:
        _leave(work)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def killed(moment: str, count: int) -> None:
    """`flor record`, which is killed at the n-th moment of a kind."""
    from flor.record import Recording
    from flor.runtime import materializing, recording, writer
    from flor.store.journal import JournalWriter

    left = [count]

    def here(*_: Any) -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def before(owner: Any, name: str) -> None:
        real = getattr(owner, name)
        setattr(owner, name, lambda *args, **more: (here(), real(*args, **more))[1])

    def behind(owner: Any, name: str) -> None:
        real = getattr(owner, name)
        setattr(owner, name, lambda *args, **more: (real(*args, **more), here())[0])

    match moment:
        case "log":
            behind(JournalWriter, "log")
        case "boundary":
            before(recording.Recorder, "boundary")
        case "pack":
            before(materializing, "write_pack")
        case "announced":
            behind(writer.CheckpointWriter, "_write")
        case "end":
            before(Recording, "_ended")
    record()


STEPS: dict[str, Callable[..., None]] = {
    "plain": plain,
    "record": record,
    "replay": replay,
    "worker": worker,
    "killed": killed,
    "resume": resume,
}


class Fork:
    """Looks like a Popen of `python -m flor.replay.worker ORDER`, and is a fork of this process."""

    def __init__(self, command: list[str], *, cwd: str, env: dict[str, str], stderr: Any, **_: Any) -> None:
        sys.stdout.flush()
        self.pid = os.fork()
        self.code: int | None = None
        if not self.pid:
            self._work(command[-1], cwd, env, stderr.fileno())

    def _work(self, order: str, cwd: str, env: dict[str, str], stderr: int) -> NoReturn:
        os.setsid()
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(env)
        os.dup2(stderr, 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        try:
            worker(order)
        except BaseException:
            traceback.print_exc()
        os._exit(1)

    def poll(self) -> int | None:
        """The exit code, once there is one."""
        if self.code is None:
            done, status = os.waitpid(self.pid, os.WNOHANG)
            self.code = os.waitstatus_to_exitcode(status) if done else None
        return self.code


def _plain(encoded: tuple[int, bytes]) -> list[Any]:
    return [int(encoded[0]), encoded[1].hex()]


if __name__ == "__main__":
    serve()
