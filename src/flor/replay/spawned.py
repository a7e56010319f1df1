"""Python processes that a worker starts anew (`spawn`, `forkserver`): the probes in them log as in forked ones."""

from __future__ import annotations

import builtins
import os
import runpy
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from flor.launch.compiling import Compiler
from flor.launch.project import Project
from flor.launch.script import forget_shadowed
from flor.launch.stage import Stage
from flor.model.plan import Order
from flor.replay.children import DEAF, journal_of_child
from flor.replay.joining import JoiningJournal, LineLogbook
from flor.replay.orders import read_order
from flor.runtime import hooks
from flor.runtime.guarding import Idle
from flor.runtime.imports import ImportWatch
from flor.runtime.probing import ProbeStatements
from flor.runtime.session import Session

STARTS = ("from multiprocessing.spawn import", "from multiprocessing.forkserver import")
MAIN = "__mp_main__"  # what multiprocessing calls the script in such a process


@dataclass(frozen=True)
class Listener:
    """What such a process has to know to log beside its worker."""

    worker: str  # its name
    order: str  # the path of its order
    root: str
    folders: tuple[str, ...]
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    libraries: tuple[str, ...]

    @classmethod
    def of(cls, worker: str, order: Path, project: Project) -> Listener:
        """For the processes of this worker."""
        return cls(
            worker, str(order), project.root, project.folders, tuple(project.include), tuple(project.exclude),
            tuple(project.libraries),
        )  # fmt: skip

    def watch(self, imports: ImportWatch) -> None:
        """Have the processes that multiprocessing starts from now on listen to their probes."""
        imports.when("multiprocessing.util", self._patch)

    def _patch(self, util: ModuleType) -> None:
        start = util.spawnv_passfds

        def spawnv_passfds(path: Any, args: Sequence[Any], passfds: Any) -> Any:
            return start(path, [self._listening(word) for word in args], passfds)

        vars(util)["spawnv_passfds"] = spawnv_passfds

    def _listening(self, word: Any) -> Any:
        """The program that the new process runs, begun by a call of ours; other words as they are."""
        if not isinstance(word, str) or not word.startswith(STARTS):
            return word
        ours = "import sys; path = sys.path[:]; sys.flags.safe_path or sys.path.pop(0)"
        return f"{ours}; from {__name__} import {Listener.__name__}; sys.path[:] = path; {self!r}.listen(); {word}"

    def listen(self) -> None:
        """In the new process: log what the probes in it log; a failure of ours is noted and stops nothing."""
        path = Path(self.order)
        journal = journal_of_child(path.with_name(f"{self.worker}.live"), os.getpid(), time.time())
        try:
            self._begin(read_order(path), journal)
        except Exception as error:
            with suppress(OSError):
                journal.with_suffix(DEAF).write_text(f"{type(error).__name__}: {error}")

    def _begin(self, order: Order, path: Path) -> None:
        project = Project(self.root, self.folders, self.include, self.exclude, self.libraries)
        compiler = Compiler(
            project,
            lambda *_: None,
            lambda _: None,
            texts=order.sources,
            probes={file: frozenset(lines) for file, lines in order.probe_lines.items()},
        )
        stage = Stage(project, compiler, lambda _: None)
        journal = JoiningJournal.create(path)
        statements = ProbeStatements(stage.name_of, journal.intern, order.probe_lines)
        journal.probes = statements.numbers
        stage.enter(Session(journal.intern, Idle()), journal, statements, LineLogbook)
        forget_shadowed(os.path.dirname(order.script))
        _run_the_script_by(compiler)


def _run_the_script_by(compiler: Compiler) -> None:
    """Have multiprocessing run the script as it is replayed: a probe may stand in no file on disk."""
    run = runpy.run_path

    def run_path(path_name: str, init_globals: dict[str, Any] | None = None, run_name: str | None = None) -> Any:
        if run_name != MAIN or not compiler.compiles(path_name):
            return run(path_name, init_globals, run_name)
        module = ModuleType(MAIN)
        names = {"__file__": path_name, "__builtins__": builtins, "__cached__": None, "_flor": hooks}
        vars(module).update(names, __package__="")
        sys.modules[MAIN] = module
        exec(compiler.compile(Path(path_name).read_bytes(), path_name, MAIN), vars(module))
        return vars(module)

    runpy.run_path = run_path
