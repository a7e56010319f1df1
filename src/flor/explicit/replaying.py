"""A replay in the user's own process: the script is run as plain Python, as in the paper's figures."""

from __future__ import annotations

import atexit
import os
import sys
from typing import Any, NoReturn

from flor.errors import NothingToReplay
from flor.explicit.bounds import earlier_end, recorded_bounds, segment_of
from flor.explicit.gate import Gate
from flor.explicit.judging import verdict
from flor.explicit.recording import running_script
from flor.launch.compiling import Compiler
from flor.launch.liveness import DeadNames
from flor.launch.project import Project
from flor.launch.stage import Stage
from flor.launch.volatility import Volatile
from flor.model.checkpoints import Key
from flor.model.plan import Plan, Segment
from flor.model.records import Channel, Ended, Note
from flor.model.values import decode_value
from flor.query.runs import run as find_run
from flor.replay.keeping import new_folder
from flor.replay.planning import probe_lines
from flor.replay.verb import Replay, Wish
from flor.runtime.capturing import Capturer
from flor.runtime.explicit.declared import Declared
from flor.runtime.explicit.replaying import ExplicitReplayer
from flor.runtime.explicit.session import ExplicitSession, pop, push
from flor.runtime.guarding import Guarded
from flor.runtime.probing import ProbeStatements
from flor.runtime.restoring import Checkpoints, Restorer
from flor.source.newnames import new_names
from flor.store.journal import JournalWriter

LATEST = ("latest", "1")


def begin_replay(name: str) -> None:
    """Replay this part of a run from here on: FLOR_REPLAY names the run, FLOR_PID and FLOR_NPARTS the part."""
    run = find_run(None if name in LATEST else name)
    if not run.facts.get("explicit"):
        raise NothingToReplay(
            f"{run.name} was recorded with `flor record`, which names no blocks.", todo=f"flor replay {run.name}"
        )
    pid, nparts = (int(os.environ.get(variable) or default) for variable, default in PARTS)
    ScriptReplay(run.name, Wish(workers=nparts), pid).begin()


PARTS = (("FLOR_PID", "0"), ("FLOR_NPARTS", "1"))


class ScriptReplay:
    """Everything that is at work while a script replays itself."""

    def __init__(self, name: str, wish: Wish, pid: int) -> None:
        self.replay = Replay(find_run(name), wish)
        self.pid = pid
        self.process = os.getpid()
        self.comparable = True
        self.folder = new_folder(self.replay.run)
        self.journal = JournalWriter.create(self.folder / f"w{pid}.live")
        project = Project.around(running_script().folder)
        nobody = Compiler(Project(project.root, ()), lambda *_: None, self._trouble)
        self.stage = Stage(project, nobody, self._trouble)
        self.declared = Declared(self.stage.scopes)
        self.gate = Gate()
        plan = self.replay.plan()
        self.replayer = self._replayer(plan, self._segment(plan, pid))
        guarded = Guarded(self.replayer, _raise)
        self.session = ExplicitSession(self.journal.intern, guarded, self.declared, self.journal.append)
        self.session.steering = self
        self.replayer.session = self.session

    def begin(self) -> None:
        """Follow the script from its first explicit call on."""
        atexit.register(self.finish)
        self.gate.install()
        self.stage.follow(self.session)
        lines = probe_lines(self.replay.edit)
        self.stage.listen(self.session, self.journal, ProbeStatements(self.stage.name_of, self.journal.intern, lines))

    def finish(self) -> None:
        """Compare what was replayed with what was recorded, and say so."""
        if os.getpid() != self.process:
            return
        self.stage.leave()
        self.gate.open = True
        self.journal.seal(Ended({"status": "finished", **vars(self.replayer.counts), "lost": self.stage.logbook.lost}))
        if getattr(sys, "last_value", None) is None and self.comparable:
            text = verdict(self.replay, self.replayer.plan, self.replayer.segment, self.folder, self.pid)
            sys.stderr.write(f"{text}\n")

    # -- what explicit calls ask -----------------------------------------------------------------

    def take_part(self, pid: int, nparts: int) -> None:
        """Replay part `pid` of `nparts`, unless the environment has said which."""
        if "FLOR_NPARTS" not in os.environ:
            self.replay.wish = Wish(workers=nparts)
            plan = self.replay.plan()
            self.pid = pid
            self._turn_to(plan, self._segment(plan, pid))

    def resume(self, args: Any) -> None:
        """Replay the epochs that the command line asks for, beginning at the nearest checkpoint."""
        recorded = recorded_bounds(self.replay.run)
        start, stop = getattr(args, "start", None), getattr(args, "stop", None)
        if start is None or recorded is None or (start, stop) == (recorded.start, recorded.stop):
            return
        plan, history = self.replayer.plan, self.replay.history
        if plan.main is None:
            args.start = recorded.start + self._resume_between_blocks(start - recorded.start)
            return
        segment = segment_of(recorded, start, stop, plan.iterations, history.resume_points(plan.main))
        self.replayer.shortened = segment.resume or 0
        args.start = recorded.start + self.replayer.shortened
        self._turn_to(plan, segment)

    def argument(self, name: str) -> Any:
        """The recorded value of a parameter."""
        for record in self.replay.history.logs:
            if record.channel is Channel.FLOR and record.name == name:
                return decode_value(record.tag, record.data)
        raise KeyError(name)

    # -- how -------------------------------------------------------------------------------------

    def _replayer(self, plan: Plan, segment: Segment) -> ExplicitReplayer:
        sources, run = self.replay.sources, self.replay.run
        checkpoints = Checkpoints(run.folder.packs, self.replay.history.checkpoints, DeadNames({}))
        ignored = Volatile(sources.present, new_names(sources.recorded, sources.present))
        restorer = Restorer(self.declared, checkpoints, ignored)
        capturer = Capturer(self.declared, DeadNames({}))
        return ExplicitReplayer(
            plan, segment, checkpoints, restorer, capturer, self._note, self._stop, _raise, frozenset()
        )

    def _segment(self, plan: Plan, pid: int) -> Segment:
        if pid < len(plan.segments):
            return plan.segments[pid]
        sys.stderr.write(f"flor: there is no part {pid}: {self.replay.run.name} is divided into {len(plan.segments)}\n")
        self.comparable = False
        raise SystemExit(0)

    def _turn_to(self, plan: Plan, segment: Segment) -> None:
        """Replay this segment instead of the one that was planned first."""
        self.replayer.plan, self.replayer.segment = plan, segment
        self.replayer.collecting = self.gate.open = segment.start == 0

    def _resume_between_blocks(self, epoch: int) -> int:
        """Put back the last block's end before an epoch of a loop that nobody named; the epoch that it leads to."""
        key = earlier_end(self.replay.history.checkpoints, epoch)
        self.comparable = False
        if key is None:
            return 0
        self._restore(key)
        if key.execution.occurrence + 1 < epoch:
            sys.stderr.write(f"flor: the nearest checkpoint is at the end of epoch {key.execution.occurrence}\n")
        return key.execution.occurrence + 1

    def _restore(self, key: Key) -> None:
        loop, caller = key.execution.loop, sys._getframe(1)
        self.session.outside[loop] = key.execution.occurrence
        frame = push(self.session, loop, caller)
        assert frame is not None and self.declared.complete is not None
        self.declared.block = self.declared.complete
        self.replayer._restore(key, frame, caller)
        pop(self.session, frame)

    def _note(self, note: Note) -> None:
        if note.kind == "segment":
            self.gate.open = True
        self.journal.append(note)

    def _stop(self) -> NoReturn:
        """The part is over; the script ends as if it had called `sys.exit()`."""
        raise SystemExit(0)

    def _trouble(self, text: str) -> None:
        self.journal.append(Note("trouble", {"text": text}))


def _raise(error: Exception) -> NoReturn:
    raise error
