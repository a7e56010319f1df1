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
from typing import Any, NoReturn

from flor.errors import RestoreMismatch, StateError
from flor.launch import script
from flor.launch.clocks import Clocks
from flor.launch.compiling import Compiler
from flor.launch.conditions import begin_as_recorded, hide_from_script
from flor.launch.facts import packages_loaded
from flor.launch.inputs import WALL, Answering, PastClock, RecordedInputs
from flor.launch.liveness import DeadNames
from flor.launch.parents import end_with_parent
from flor.launch.project import Project
from flor.launch.rewind import Rewinder
from flor.launch.stage import Stage
from flor.launch.target import Target, find_module, find_script
from flor.launch.volatility import Volatile
from flor.launch.wall.choice import FileLayer, Wall, build
from flor.model.plan import Order
from flor.model.positions import readable
from flor.model.records import Ended, Note
from flor.query.runs import Run
from flor.replay.eventfiles import WORK, EventFiles
from flor.replay.history import History
from flor.replay.joining import JoiningJournal, LineLogbook
from flor.replay.meeting import wait_for_others
from flor.replay.orders import read_order
from flor.replay.ranks import ranks_of
from flor.replay.spawned import Listener
from flor.runtime.capturing import Capturer
from flor.runtime.explicit.declared import Declared
from flor.runtime.explicit.prelude import WithoutPrelude
from flor.runtime.explicit.replaying import ExplicitReplayer
from flor.runtime.explicit.session import ExplicitSession
from flor.runtime.guarding import Guarded
from flor.runtime.logbook import Logbook, Sink
from flor.runtime.probing import ProbeStatements
from flor.runtime.replaying import Replayer
from flor.runtime.restoring import Checkpoints, Restorer
from flor.runtime.scopes import ScopeReader
from flor.runtime.session import Session
from flor.store.forks import forsake_in_child
from flor.store.layout import Layout
from flor.store.run import open_run

LEAVE = os._exit
TRACKERS = "trackers-"  # folders of a replay in which trackers keep what they are given
FAILED = 71  # exit code: a failure of flor itself
REFUSED = 70  # exit code: a checkpoint could not be put in place; the journal says which


class Worker:
    """Everything that is at work in one worker process."""

    def __init__(self, order: Order, files: FileLayer, path: Path) -> None:
        self.order = order
        self.path = path  # of the order
        self.overlay = files
        folder = Path(order.folder)
        self.run = ranks_of(Run(open_run(Layout(Path(order.store)), order.run)))[order.rank]
        self.name = order.name
        self.journal = JoiningJournal.create(folder / f"{self.name}.live")
        self.target = self._target()
        facts = self.run.facts
        self.project = Project.around(
            self.target.folder,
            include=facts.get("include", ()),
            exclude=facts.get("exclude", ()),
            libraries=facts.get("libraries", ()),
        )
        self.compiler = Compiler(
            self.project,
            lambda *_: None,
            self._trouble,
            texts=order.sources,
            rename=self._loop_name,
            doubtful={file: frozenset(lines) for file, lines in order.doubtful.items()},
            probes={file: frozenset(lines) for file, lines in order.probe_lines.items()},
        )
        self.stage = Stage(self.project, self.compiler, self._trouble, silent=folder / f"{TRACKERS}{self.name}")
        self.history = History.of(self.run)
        dead = DeadNames({name: text.encode() for name, text in order.sources.items()}, rename=order.loops)
        checkpoints = Checkpoints(
            self.run.folder.packs, self.history.checkpoints, dead, without=frozenset(order.without)
        )
        scopes = Declared(self.stage.scopes) if self.history.explicit else self.stage.scopes
        capturer = Capturer(scopes, DeadNames(self.run.sources))
        self.inputs = RecordedInputs.of(self.history.inputs)
        self.clock = PastClock(float(facts["started"]), self.inputs.first(WALL))
        self.rewinder = Rewinder(self.overlay, self.journal.append, self.clock.not_before)
        volatile = Volatile(order.sources, order.new_names, order.volatile)
        allowed = volatile.allowance(Clocks.of(facts, self.run.ended), self.stage.owns_module)
        restorer = Restorer(scopes, checkpoints, volatile, self.rewinder.restore, allowed)
        self.replayer = (ExplicitReplayer if self.history.explicit else Replayer)(
            order.plan, order.segment, checkpoints, restorer, capturer, self.journal.append, self.stop, self._failed,
            frozenset(order.never_skip),
        )  # fmt: skip
        self.stage.trackers.jumped = lambda: self.replayer.last_restored is not None
        self.session = self._session(scopes)
        self.replayer.session = self.session

    def _session(self, scopes: ScopeReader) -> Session:
        conductor = Guarded(self.replayer, self._failed)
        forsake_in_child(conductor.forsake)
        if isinstance(scopes, Declared):
            return ExplicitSession(self.journal.intern, conductor, scopes, self.journal.append)
        return Session(self.journal.intern, conductor, in_chunks=False)

    def _sink(self) -> Sink:
        """Where log records go: those of a run that began in the middle of its script do so here as well."""
        if isinstance(self.session, ExplicitSession):
            return WithoutPrelude(self.journal, self.session, self.order.probe_lines)
        return self.journal

    def work(self) -> NoReturn:
        """Run the script as the record did; end at once when the segment is over."""
        sink = self._sink()
        statements = ProbeStatements(self.stage.name_of, sink.intern, self.order.probe_lines)
        self.journal.probes = statements.numbers
        place = Path(self.order.folder) / f"{WORK}{self.name}"
        self.events = EventFiles(place, statements.is_probing, lambda: self.replayer.collecting)
        self._as_recorded()
        self.overlay.install()
        self._end_by_os_exit()
        self.rewinder.begin(self.history.made)
        self.stage.enter(self.session, sink, statements, LineLogbook if sink is self.journal else Logbook)
        self._ask_the_record(statements)
        Listener.of(self.name, self.path, self.project).watch(self.stage.imports)
        self.events.watch(self.stage.imports)  # after the loggers: theirs is the library's own method with an ear on it
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
            where = readable(self.replayer.position_of(error), self.run.loop_names)
            facts = {"traceback": text, "type": type(error).__name__, "probe": probe, "position": where}
            self.journal.append(Note("raised", facts))
            self._end("raised", 0)
        self._end("finished", 0)

    def _ask_the_record(self, statements: ProbeStatements) -> None:
        """Answer what the script asks the world as the world answered then, if that was noted."""
        facts = self.run.facts
        if facts.get("inputs"):
            answering = Answering(
                self.inputs, self.session, self.stage.name_of, self.journal.append,
                statements.is_probing, complete=self.history.complete, clock=self.clock,
            )  # fmt: skip
            self.stage.ask(answering, pid=facts["pid"], clock=self.clock)

    def stop(self) -> NoReturn:
        """The segment is over; who trains with others goes when all may go, since these may still ask something."""
        wait_for_others(Path(self.order.folder), self.name, self.order.worker, self.order.ranks)
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
        escapes = [f"{escape.what} {escape.detail}" for escape in self.overlay.escapes.all()]
        lost = self.stage.logbook.lost
        packages = packages_loaded()
        self.overlay.tell_reads()
        self.events.close()
        self.journal.seal(
            Ended({"status": status, **counts, "escapes": escapes, "lost": lost, "packages": packages, **facts})
        )
        sys.stdout.flush()
        sys.stderr.flush()

    def _end_by_os_exit(self) -> None:
        """A script that leaves by `os._exit` has come to its end; its forked children leave as ever."""
        pid, leave = os.getpid(), os._exit

        def left(status: int) -> NoReturn:
            if os.getpid() != pid:
                self.journal.finish_line()
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
        """The conditions of the record, and libraries that write past Python patched."""
        hide_from_script()
        begin_as_recorded(self.run, self.stage.imports)
        self.stage.imports.when("torch", self.overlay.patch_torch)

    def _loop_name(self, loop: str) -> str:
        return self.order.loops.get(loop, f"+{loop}")

    def _trouble(self, text: str) -> None:
        self.journal.append(Note("trouble", {"text": text}))


def files_of(order: Order) -> FileLayer:
    """The wall around this process, and the layer in which the script's files are."""
    folder = Path(order.folder)
    layer = folder / f"files-{order.name}"
    wall = Wall(order.wall)
    files = build(wall, layer, pass_through=[folder], expected=order.writes, shown=order.shown)
    if wall is Wall.OVERLAY:
        os.chdir(order.cwd)
    return files


def main() -> None:
    """Read the order whose path is given, and do it."""
    path = Path(sys.argv[1])
    end_with_parent()
    try:
        order = read_order(path)
        worker = Worker(order, files_of(order), path.absolute())
    except Exception as error:
        path.with_suffix(".failed").write_text(json.dumps({"error": f"{type(error).__name__}: {error}"}))
        raise
    worker.work()


if __name__ == "__main__":
    main()
