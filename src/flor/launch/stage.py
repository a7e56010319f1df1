"""Everything that listens while a script runs, set up and taken down together."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType, ModuleType

from flor.launch import importhook
from flor.launch.compiling import Compiler
from flor.launch.inputs import InputWatch, PastClock
from flor.launch.project import Project
from flor.model.trackers import PACKAGES
from flor.runtime import current, hooks
from flor.runtime.imports import ImportWatch
from flor.runtime.interrupts import SignalWatch
from flor.runtime.logbook import Logbook, Sink
from flor.runtime.loggers import LoggerWatch
from flor.runtime.readings import Inputs
from flor.runtime.scopes import ScopeReader
from flor.runtime.session import Session
from flor.runtime.speakers import Speakers
from flor.runtime.statements import Statements
from flor.runtime.streams import StreamWatch
from flor.runtime.trackers import TrackerWatch
from flor.source.libraries import FRAMEWORKS, functions_of
from flor.state import watch_loaders
from flor.state.values import encode_value


class Stage:
    """The import hook, the streams and the loggers around one session."""

    def __init__(
        self, project: Project, compiler: Compiler, on_trouble: Callable[[str], None], silent: Path | None = None
    ) -> None:
        self.project = project
        self.compiler = compiler
        self.imports = ImportWatch(on_trouble)
        self.signals = SignalWatch()
        self.trackers = TrackerWatch(self.imports, silent, self.owns_module)  # in a replay they are silent
        self.scopes = ScopeReader(self.owns_code, self.owns_module, lambda: compiler.stores)
        self.inputs: InputWatch | None = None
        self.streams: StreamWatch | None = None
        self.loggers: LoggerWatch | None = None

    def enter(
        self, session: Session, sink: Sink, statements: Statements | None = None, kind: type[Logbook] = Logbook
    ) -> Logbook:
        """Follow the loops of a session and listen to what is logged."""
        self.follow(session)
        return self.listen(session, sink, statements, kind)

    def follow(self, session: Session) -> None:
        """Compile the project's modules with our calls in them, and hear of loops."""
        self.imports.install()
        self.trackers.install()
        self.imports.when("torch", _torch_imported)
        self.imports.when("torch.utils.data", _data_imported)
        self.finder = importhook.install(self.compiler)
        self.signals.install()
        current.session = session

    def listen(
        self, session: Session, sink: Sink, statements: Statements | None = None, kind: type[Logbook] = Logbook
    ) -> Logbook:
        """Keep what is written to the streams and given to loggers from now on."""
        statements = statements or Statements(self.name_of, sink.intern)
        self.logbook = kind(sink, session, statements, encode_value, Speakers(self.project.package, FRAMEWORKS))
        session.logbook = self.logbook
        self.streams = StreamWatch(self.logbook)
        self.loggers = LoggerWatch(self.logbook, self.imports)
        self.streams.install()
        self.loggers.install()
        return self.logbook

    def ask(self, inputs: Inputs, *, pid: int | None = None, clock: PastClock | None = None) -> None:
        """Have the project's code ask `inputs`, not the world; `pid` and `clock` are those that these answer with."""
        if self.inputs is None:
            self.inputs = InputWatch(self.imports, inputs, pid=pid, clock=clock)
            self.inputs.install()
        else:
            self.inputs.turn_to(inputs)

    def leave(self) -> None:
        """Stop listening."""
        current.session = None
        if self.inputs is not None:
            self.inputs.remove()
        if self.streams is not None:
            self.streams.remove()
        if self.loggers is not None:
            self.loggers.remove()
        self.trackers.remove()
        self.imports.remove()
        importhook.remove(self.finder)
        self.signals.remove()

    def name_of(self, file: str) -> str | None:
        """A file's name in the store, or None if it is not the project's."""
        return self.project.name(file) if self.project.owns(file) else None

    def tracker_at(self, frame: FrameType | None) -> str:
        """The tracker whose code runs in a frame or called it, nearer than the project's; empty if none did."""
        while frame is not None and not self.project.owns(frame.f_code.co_filename):
            package = self.project.package(frame.f_code.co_filename)
            if package in PACKAGES:
                return package
            frame = frame.f_back
        return ""

    def owns_code(self, code: CodeType) -> bool:
        """True if the code is from a file of the project, or a function of a library that has a training loop."""
        if self.project.owns(code.co_filename):
            return True
        library = self.project.library(code.co_filename)
        return library is not None and code.co_qualname in functions_of(library)

    def owns_module(self, name: str) -> bool:
        """True if the module is a file of the project."""
        module = sys.modules.get(name)
        file = getattr(module, "__file__", None) if module is not None else None
        return isinstance(file, str) and self.project.owns(file)


def _data_imported(_: ModuleType) -> None:
    watch_loaders()


def _torch_imported(torch: ModuleType) -> None:
    hooks.compiling = torch.compiler.is_dynamo_compiling
