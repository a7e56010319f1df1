"""A recording that begins in the middle of a script, at its first explicit call."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from flor.launch.compiling import Compiler
from flor.launch.liveness import DeadNames
from flor.launch.project import Project
from flor.launch.target import Target
from flor.record import Outcome, Recording, Request
from flor.runtime.capturing import Capturer
from flor.runtime.explicit.declared import Declared
from flor.runtime.explicit.recording import ExplicitRecorder
from flor.runtime.explicit.session import ExplicitSession
from flor.runtime.guarding import Guarded
from flor.runtime.policy import TOLERANCE
from flor.store.layout import Layout
from flor.store.run import create_run


def begin_recording() -> None:
    """Make a run in this folder's store, and record into it until the script ends."""
    target, store = running_script(), Path(os.environ.get("FLOR_STORE") or ".flor")
    request = Request(
        script=target.argv[0] if target.module is None else None,
        module=target.module,
        arguments=target.argv[1:],
        store=store,
        name=os.environ.get("FLOR_NAME") or None,
        tolerance=float(os.environ.get("FLOR_OVERHEAD") or TOLERANCE),
        materialize=os.environ.get("FLOR_MATERIALIZE") or "thread",
        libraries=(),
    )
    layout = Layout(store.absolute())
    layout.prepare()
    ExplicitRecording(request, target, create_run(layout, request.name)).begin()


def running_script() -> Target:
    """What this process runs as `__main__`."""
    main = sys.modules["__main__"]
    path = os.path.abspath(str(main.__file__))
    spec = getattr(main, "__spec__", None)
    module = spec.name.removesuffix(".__main__") if spec is not None else None
    words = list(sys.argv) or [path]
    if not os.path.isfile(words[0]):  # the script has changed the folder since it was started
        words[0] = path
    return Target(path, tuple(words), os.path.dirname(path), module)


class ExplicitRecording(Recording):
    """Records what the user names and declares; the rest of the script is left as it is."""

    def __post_init__(self) -> None:
        super().__post_init__()
        nobody = Project(self.stage.project.root, ())
        self.stage.compiler = Compiler(nobody, lambda *_: None, self._trouble)  # modules imported later stay plain
        declared = Declared(self.stage.scopes)
        capturer = Capturer(declared, DeadNames({})) if self.request.materialize != "off" else None
        recorder = ExplicitRecorder(
            self.journal.append,
            capturer,
            self.writer,
            self.request.tolerance,
            self.files_now,
            self.recorder.density.restore_ratio,
        )
        recorder.declared = declared
        guarded = Guarded(recorder, self._failed)
        self.session = ExplicitSession(self.journal.intern, guarded, declared, self.journal.append)
        self.recorder, recorder.session = recorder, self.session

    def begin(self) -> None:
        """Start everything from here on."""
        self.say(f"recording {self.run.name}")
        self.open_journal(explicit=True)
        self._keep_sources()
        self.stage.follow(self.session)
        self.listen()

    def finish(self) -> None:
        """Seal the run, with the modules that were imported since, and how the script ended as far as can be seen."""
        if os.getpid() == self.pid:
            self._keep_sources()
            error = getattr(sys, "last_value", None)  # what the interpreter is about to end with, or has ended with
            self.outcome = Outcome.of(error) if error is not None else Outcome("finished", 0)
        super().finish()

    def _keep_sources(self) -> None:
        for name in self.stage.scopes.modules():
            path = Path(getattr(sys.modules[name], "__file__", None) or "")  # at its end `__main__` has none any more
            if path.is_absolute() and path.suffix == ".py" and path.is_file():  # torch has modules that claim `_ops.py`
                self._keep_source(self.stage.project.name(str(path)), name, path.read_bytes())
