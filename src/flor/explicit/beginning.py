"""The session that an explicit call belongs to: the one under way, or one that begins with this call."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading

from flor.errors import FlorError
from flor.runtime import current
from flor.runtime.explicit.declared import Given
from flor.runtime.explicit.marking import mark
from flor.runtime.explicit.session import ExplicitSession
from flor.runtime.session import Session

OFF = ("off", "0", "no", "false")


def begun() -> Session | None:
    """The session of this thread, begun now if the script was started as plain Python; None if there is none."""
    if current.session is None and not current.settled:
        _begin()
    current.settled = True  # a child that is forked from here on begins no run of its own
    session = current.session
    if session is None or session.thread != threading.get_ident():
        return None
    if isinstance(session, ExplicitSession) and not session.begun:
        session.begun = True
        mark(session, "begin", Given(), sys._getframe(1))
    return session


def explicit() -> ExplicitSession | None:
    """The same, if loops and blocks are the user's to name; under `flor record` they are found without being named."""
    session = begun()
    return session if isinstance(session, ExplicitSession) else None


def _begin() -> None:
    """Begin a replay if the environment asks for one, else a recording; one that can't be kept stops no training."""
    if not _is_a_script():
        return
    replayed = os.environ.get("FLOR_REPLAY")
    if replayed:
        from flor.explicit.replaying import begin_replay

        begin_replay(replayed)
    elif os.environ.get("FLOR_RECORD", "").lower() not in OFF:
        from flor.explicit.recording import begin_recording

        try:
            begin_recording()
        except (FlorError, OSError) as error:
            sys.stderr.write(f"flor: this run is not recorded: {error}\n")


def _is_a_script() -> bool:
    """True in the main thread of a process that runs a file; children of multiprocessing belong to another."""
    file = getattr(sys.modules.get("__main__"), "__file__", None)
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and multiprocessing.parent_process() is None and bool(file) and os.path.isfile(str(file))
