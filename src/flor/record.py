"""The verb `record`: snapshot of the sources, launch, seal."""

from __future__ import annotations

import atexit
import mmap
import os
import resource
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flor.launch import facts, script
from flor.launch.compiling import Compiler
from flor.launch.filewatch import FileWatch
from flor.launch.folderwatch import FolderWatch
from flor.launch.inputs import Noting
from flor.launch.liveness import DeadNames
from flor.launch.project import Project, watched_libraries
from flor.launch.randomness import numpy_facts, random_state
from flor.launch.reads import ReadFiles
from flor.launch.seeing import AllSeen
from flor.launch.stage import Stage
from flor.launch.target import Target, find_module, find_script
from flor.launch.written import WrittenFiles
from flor.model.checkpoints import FilesNow
from flor.model.records import Ended, Facts, Note, Source
from flor.query.costs import kept_text, overhead_text
from flor.runtime import current
from flor.runtime.background.handsfree import BackgroundLogging
from flor.runtime.capturing import Capturer
from flor.runtime.guarding import Guarded
from flor.runtime.policy import RESTORE_RATIO
from flor.runtime.recording import Recorder
from flor.runtime.session import Session
from flor.runtime.streams import plain
from flor.runtime.writers import make_writer
from flor.state import Memory
from flor.store.journal import JournalWriter
from flor.store.layout import Layout
from flor.store.restores import restore_ratio
from flor.store.run import RunFolder, create_run, join_or_create_run
from flor.store.syncer import Syncer

LAST_WAIT = 5.0  # seconds that a script's end may wait for checkpoints, at the most, beyond its budget


@dataclass(frozen=True)
class Request:
    """What the user asked to be recorded, and how."""

    script: str | None
    module: str | None
    arguments: tuple[str, ...]
    store: Path = Path(".flor")
    name: str | None = None
    tolerance: float = 1 / 15
    materialize: str = "thread"
    tags: tuple[str, ...] = ()
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    libraries: Sequence[str] | None = None  # None: all that are known and not left out
    background_logging: bool = False
    hash_seed: str | None = None
    silent: Path | None = None  # a folder for what trackers would keep elsewhere, where they must not be reached

    def target(self) -> Target:
        """The file to run."""
        if self.module is not None:
            return find_module(self.module, self.arguments)
        assert self.script is not None
        return find_script(self.script, self.arguments)


def prepare(request: Request) -> Recording:
    """Everything that can go wrong before the script's first line, with a clear error."""
    target = request.target()
    layout = Layout(request.store.absolute())
    layout.prepare()
    job = facts.job(os.environ)
    run = join_or_create_run(layout, request.name, *job) if job else create_run(layout, request.name)
    return Recording(request, target, run)


@dataclass(frozen=True)
class Outcome:
    """How the script ended."""

    status: str
    exit: int | None
    traceback: str | None = None

    @classmethod
    def of(cls, error: BaseException) -> Outcome:
        """From what it raised."""
        if isinstance(error, SystemExit):
            code = error.code
            number = 0 if code is None else code & 0xFF if isinstance(code, int) else 1
            return cls("finished" if number == 0 else "failed", number)
        trace = script.trimmed(error.__traceback__)
        text = "".join(traceback.format_exception(type(error), error, trace))
        return cls("interrupted" if isinstance(error, KeyboardInterrupt) else "failed", 1, text)


@dataclass
class Recording:
    """Everything that is at work while a script is recorded."""

    request: Request
    target: Target
    run: RunFolder
    outcome: Outcome = field(default_factory=lambda: Outcome("unknown", None))

    def __post_init__(self) -> None:
        self.rank = facts.rank(os.environ)
        self.pid = os.getpid()
        self.stderr = sys.stderr
        self.begun = time.time()
        self.clock = time.perf_counter()
        self.sources: dict[str, bytes] = {}
        self.forks = 0
        self.children_print = mmap.mmap(-1, 1)  # shared with forked children, which set it when they print
        request = self.request
        self.libraries = watched_libraries(request.exclude) if request.libraries is None else list(request.libraries)
        project = Project.around(
            self.target.folder, include=request.include, exclude=request.exclude, libraries=self.libraries
        )
        self.journal: JournalWriter = self.run.fragment(self.rank, self.pid, on_failure=self._disk_failed)
        self.compiler = Compiler(project, self._keep_source, self._trouble)
        self.stage = Stage(project, self.compiler, self._trouble, request.silent)
        self.syncer = Syncer(self.journal)
        self.writer = make_writer(
            self.request.materialize, self.run, self.journal.path.stem, self.journal.append, self._writer_failed
        )
        memory = Memory(only_host=self.writer.forks)
        capturer = Capturer(self.stage.scopes, DeadNames(self.sources), memory, AllSeen(self.sources))
        active = capturer if self.request.materialize != "off" else None
        self.written = WrittenFiles(self.journal.append)
        self.files = FileWatch(
            self._on_write,
            ReadFiles(self.journal.append, self.written.known).on_read,
            on_unseen=lambda path, change: self._on_write(path, change, unseen=True),
            on_printing_child=lambda: self._note("printing child"),
            tracker_at=self.stage.tracker_at,
            ignore=[self.run.path.parent.parent],
        )
        self.folders = FolderWatch(self.files.changed, os.path.realpath(self.run.path.parent.parent))
        ratio = restore_ratio(Layout(self.run.path.parent.parent)) or RESTORE_RATIO
        tolerance, files = self.request.tolerance, self.files_now
        self.recorder = Recorder(self.journal.append, active, self.writer, tolerance, files, ratio)
        self.session = Session(self.journal.intern, Guarded(self.recorder, self._failed))
        self.recorder.session = self.session

    def run_script(self) -> None:
        """Run the script as `python` would; what it raises, and its exit, come out unchanged."""
        self.begin()
        try:
            script.run(self.target, self.compiler)
        except BaseException as error:
            self.outcome = Outcome.of(error)
            raise
        self.outcome = Outcome("finished", 0)

    def begin(self) -> None:
        """Start everything, our own end last of all, and say the run's name."""
        self.say(f"recording {self.run.name}")
        self.open_journal(inputs=True)
        self.stage.follow(self.session)
        self.listen()
        self.ask()

    def open_journal(self, **more: Any) -> None:
        """Write down under which conditions the script begins, and see to it that the journal is sealed at its end."""
        values = facts.facts_now(list(self.target.argv), self._script_name(), self.request.module)
        values.update(run=self.run.name, started=self.begun, tags=list(self.request.tags))
        values.update(hash_seed=self.request.hash_seed, tolerance=self.request.tolerance, random=random_state())
        values.update(include=list(self.request.include), exclude=list(self.request.exclude))
        values.update(libraries=self.libraries, store=os.path.realpath(self.run.path.parent.parent), **more)
        self.journal.append(Facts(values))
        atexit.register(self.finish)
        os.register_at_fork(after_in_child=self._in_child, after_in_parent=self._forked)
        self.syncer.start()
        self.stage.imports.when("torch", lambda torch: self._note("torch", **facts.torch_facts(torch)))
        self.stage.imports.when("numpy", lambda numpy: self._note("numpy", **numpy_facts(numpy)))

    def listen(self) -> None:
        """Keep what the script logs and which files it changes, from now on."""
        if self.request.background_logging:
            BackgroundLogging(self.stage.imports).install()
        self.logbook = self.stage.listen(self.session, self.journal)
        self.files.start()
        self.folders.start([os.getcwd(), str(self.target.folder)])
        self.stage.imports.when("torch", self.files.patch_torch)

    def files_now(self) -> FilesNow:
        """What the files hold that the run has written."""
        self.folders.drain()
        with self.files.deaf():
            return self.written.now()

    def _on_write(self, path: str, change: str, *, unseen: bool = False) -> None:
        if path.endswith(".py") and self.stage.project.name(path) in self.sources:
            return  # it is being edited for the next run, or for a replay of this one
        self.written.on_write(path, change, unseen=unseen)
        self.folders.add(os.path.dirname(path))

    def ask(self, before: int = 0) -> None:
        """Note what the world tells the script, from now on; `before` readings are noted already."""
        noting = Noting(self.journal, self.session, self.stage.name_of)
        noting.count = before
        self.stage.ask(noting)

    def finish(self) -> None:
        """Seal the journal and say what was kept; called by Python when everything of the user's has ended."""
        if os.getpid() != self.pid:
            return
        self.folders.drain()
        self.files.stop()
        self.stage.leave()
        wall = time.perf_counter() - self.clock
        self.writer.close(LAST_WAIT + min(1.0, self.request.tolerance) * wall)
        self.syncer.stop()
        self.journal.seal(Ended(self._ended(wall)))
        self._say_what_was_kept(wall)

    def say(self, text: str) -> None:
        """One line of ours on stderr, kept out of the logs."""
        if self.rank == 0:
            try:
                plain(self.stderr)(f"flor: {text}\n")
                self.stderr.flush()
            except (OSError, ValueError, AttributeError):
                pass

    def _ended(self, wall: float) -> dict[str, Any]:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return {
            "status": self.outcome.status,
            "exit": self.outcome.exit,
            "traceback": self.outcome.traceback,
            "seconds": wall,
            "cpu_seconds": usage.ru_utime + usage.ru_stime,
            "records": self.logbook.records,
            "lost": self.logbook.lost,
            "forks": self.forks,
            "children_print": self.children_print[0] != 0,
            "packages": facts.packages_loaded(),
            "devices": facts.devices(sys.modules.get("torch")),
            "loops": {
                site.loop: {
                    "executions": site.executions,
                    "iterations": site.iterations,
                    "seconds": site.seconds,
                    "functions": sorted(site.functions),
                    "demoted": site.demoted,
                }
                for site in self.session.sites.values()
            },
            "checkpoints": self.recorder.tally.account(self.writer.ledger),
        }

    def _say_what_was_kept(self, wall: float) -> None:
        account = self.recorder.tally.account(self.writer.ledger)
        self.say(
            f"{self.run.name}: {wall:.1f} s, {self.logbook.records:,} log records, {kept_text(account)}, "
            f"{overhead_text(account, wall)}"
        )
        for glob in self.compiler.project.unmatched():
            self.say(f"{glob} matches no file that the script has imported")
        if self.journal.failed is not None:
            self.say(f"the run is incomplete: {self.journal.failed}; what was written before is kept [disk-failed]")
        elif account["written"]:
            self.say(f"add a log statement, then: flor replay {self.run.name}")
        else:
            self.say(f"replayable from its start: flor replay {self.run.name}")

    def _script_name(self) -> str:
        return self.stage.project.name(self.target.path)

    def _keep_source(self, name: str, module: str, text: bytes) -> None:
        if name not in self.sources:
            self.sources[name] = text
            self.journal.append(Source(name, module, text))

    def _note(self, kind: str, **values: Any) -> None:
        self.journal.append(Note(kind, values))

    def _trouble(self, text: str) -> None:
        self._note("trouble", text=text)

    def _failed(self, error: Exception) -> None:
        """A failure of ours at a loop: training goes on, and the run says so."""
        self._trouble(f"at a loop: {type(error).__name__}: {error}")

    def _writer_failed(self, text: str) -> None:
        """Checkpoints end here; said at once, since a later crash would find none."""
        self._trouble(text)
        self.say(f"{text}; training goes on, earlier checkpoints are kept [checkpoints-ended]")

    def _disk_failed(self, error: OSError) -> None:
        self.say(f"the run can no longer be kept: {error}; training goes on [disk-failed]")

    def _forked(self) -> None:
        self.forks += 1

    def _in_child(self) -> None:
        """A forked child is not recorded; that it prints is told to its parent."""
        current.session = None
        if hasattr(self, "logbook"):
            self.logbook.only_note_prints(self.children_print)
