"""A worker process: the script with the probes in it, from a resume point to the end of its segment."""

from __future__ import annotations

import atexit
import json
import os
import sys
import traceback
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from flor.errors import RestoreMismatch, StateError
from flor.launch import script
from flor.launch.compiling import Compiler
from flor.launch.liveness import DeadNames
from flor.launch.overlay import Overlay
from flor.launch.project import Project
from flor.launch.randomness import set_numpy_state, set_random_state
from flor.launch.rewind import Rewinder
from flor.launch.stage import Stage
from flor.launch.target import Target, find_module, find_script
from flor.launch.volatility import Volatile
from flor.model.plan import Order
from flor.model.records import Ended, Note
from flor.query.runs import Run
from flor.replay.history import History
from flor.replay.orders import read_order
from flor.runtime.capturing import Capturer
from flor.runtime.guarding import Guarded
from flor.runtime.probing import ProbeStatements
from flor.runtime.replaying import Replayer
from flor.runtime.restoring import Checkpoints, Restorer
from flor.runtime.session import Session
from flor.store.journal import JournalWriter
from flor.store.layout import Layout
from flor.store.run import open_run

LEAVE = os._exit
FAILED = 71  # exit code: a failure of flor itself
REFUSED = 70  # exit code: a checkpoint could not be put in place; the journal says which


class Worker:
    """Everything that is at work in one worker process."""

    def __init__(self, order: Order) -> None:
        self.order = order
        folder = Path(order.folder)
        self.run = Run(open_run(Layout(Path(order.store)), order.run))
        self.journal = JournalWriter.create(folder / f"w{order.worker}.live")
        self.target = self._target()
        self.project = Project.around(self.target.folder)
        self.compiler = Compiler(
            self.project,
            lambda *_: None,
            self._trouble,
            texts=order.sources,
            rename=self._loop_name,
            doubtful={file: frozenset(lines) for file, lines in order.doubtful.items()},
        )
        self.stage = Stage(self.project, self.compiler, self._trouble)
        self.overlay = Overlay(folder / f"files{order.worker}", pass_through=[folder])
        self.history = History.of(self.run)
        dead = DeadNames({name: text.encode() for name, text in order.sources.items()}, rename=order.loops)
        checkpoints = Checkpoints(
            self.run.folder.packs, self.history.checkpoints, dead, without=frozenset(order.without)
        )
        capturer = Capturer(self.stage.scopes, DeadNames(self.run.sources))
        self.rewinder = Rewinder(self.overlay, self.journal.append)
        restorer = Restorer(
            self.stage.scopes, checkpoints, Volatile(order.sources, order.new_names), self.rewinder.restore
        )
        self.replayer = Replayer(
            order.plan, order.segment, checkpoints, restorer, capturer, self.journal.append, self.stop, self._failed,
            frozenset(order.never_skip),
        )  # fmt: skip
        self.session = Session(self.journal.intern, Guarded(self.replayer, self._failed), in_chunks=False)
        self.replayer.session = self.session

    def work(self) -> NoReturn:
        """Run the script as the record did; end at once when the segment is over."""
        statements = ProbeStatements(self.stage.name_of, self.journal.intern, self.order.probe_lines)
        self._as_recorded()
        self.overlay.install()
        self._end_by_os_exit()
        self.rewinder.begin(self.history.made)
        self.stage.enter(self.session, self.journal, statements)
        try:
            script.run(self.target, self.compiler)
        except SystemExit as error:
            self._end("exited", 0, code=error.code if isinstance(error.code, int | None) else 1)
        except StateError as error:  # the script trains through a tensor whose graph no checkpoint holds
            restored = self.replayer.last_restored
            self.journal.append(Note("refused", {"key": restored and restored.execution.loop, "error": str(error)}))
            self._end("refused", REFUSED)
        except BaseException as error:
            trace = script.trimmed(error.__traceback__)
            text = "".join(traceback.format_exception(type(error), error, trace))
            probe = statements.probe_in(error.__traceback__)
            self.journal.append(Note("raised", {"traceback": text, "type": type(error).__name__, "probe": probe}))
            self._end("raised", 0)
        self._end("finished", 0)

    def stop(self) -> NoReturn:
        """The segment is over."""
        self._end("stopped", 0)

    def _end(self, status: str, exit_code: int, **facts: Any) -> NoReturn:
        """Seal and leave; a script that came to its end runs what it registered for that."""
        if status in ("finished", "exited", "raised"):
            with suppress(BaseException):
                atexit._run_exitfuncs()
        self._seal(status, facts)
        LEAVE(exit_code)

    def _seal(self, status: str, facts: Mapping[str, Any]) -> None:
        counts = vars(self.replayer.counts)
        escapes = [f"{escape.what} {escape.detail}" for escape in self.overlay.escapes]
        lost = self.stage.logbook.lost
        self.journal.seal(Ended({"status": status, **counts, "escapes": escapes, "lost": lost, **facts}))
        sys.stdout.flush()
        sys.stderr.flush()

    def _end_by_os_exit(self) -> None:
        """A script that leaves by `os._exit` has come to its end; its forked children leave as ever."""
        pid, leave = os.getpid(), os._exit

        def left(status: int) -> NoReturn:
            if os.getpid() != pid:
                leave(status)
            self._seal("exited", {"code": status})
            leave(0)

        os._exit = left

    def _failed(self, error: Exception) -> NoReturn:
        """A checkpoint that does not fit, or a failure of ours: the script must not go on from here."""
        if isinstance(error, RestoreMismatch):
            self.journal.append(Note("refused", {"key": error.where, "error": str(error)}))
            self._end("refused", REFUSED)
        self.journal.append(Note("trouble", {"text": "".join(traceback.format_exception(error))}))
        traceback.print_exception(error)
        self._end("failed", FAILED)

    def _target(self) -> Target:
        arguments = self.order.argv[1:]
        if self.order.module is not None:
            return find_module(self.order.module, arguments)
        return find_script(self.order.argv[0], arguments)

    def _as_recorded(self) -> None:
        """The random states that the run began with, and its thread counts."""
        facts = self.run.facts
        if "PYTHONHASHSEED" not in facts["variables"]:
            os.environ.pop("PYTHONHASHSEED", None)  # it was for the interpreter; the script never saw it
        if facts.get("random"):
            set_random_state(facts["random"])
        for note in self.run.notes:
            if note.kind == "numpy":
                values = note.values
                self.stage.imports.when("numpy", lambda numpy, v=values: set_numpy_state(numpy, v["random"]))  # type: ignore[misc]
            elif note.kind == "torch":
                facts_then = note.values
                self.stage.imports.when("torch", lambda torch, v=facts_then: _torch_as_then(torch, v))  # type: ignore[misc]
        self.stage.imports.when("torch", self.overlay.patch_torch)
        self.stage.imports.when("mlflow", self._keep_mlflow_here)

    def _keep_mlflow_here(self, mlflow: ModuleType) -> None:
        """A replay sends nothing to a tracking server: all goes to a folder of its own."""
        mlflow.set_tracking_uri((Path(self.order.folder) / f"files{self.order.worker}" / "mlruns").as_uri())
        vars(mlflow)["set_tracking_uri"] = lambda *_, **__: None

    def _loop_name(self, loop: str) -> str:
        return self.order.loops.get(loop, f"+{loop}")

    def _trouble(self, text: str) -> None:
        self.journal.append(Note("trouble", {"text": text}))


def _torch_as_then(torch: ModuleType, then: Mapping[str, Any]) -> None:
    """Its thread count, since another one changes last digits, and the seed that an unseeded script began with."""
    if torch.get_num_threads() != then["threads"]:
        torch.set_num_threads(int(then["threads"]))
    torch.default_generator.manual_seed(int(then["initial_seed"]))  # not torch.manual_seed: that wakes devices


def main() -> None:
    """Read the order whose path is given, and do it."""
    path = Path(sys.argv[1])
    try:
        worker = Worker(read_order(path))
    except Exception as error:
        path.with_suffix(".failed").write_text(json.dumps({"error": f"{type(error).__name__}: {error}"}))
        raise
    worker.work()


if __name__ == "__main__":
    main()
