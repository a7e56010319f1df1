"""The process of a resumed run: silently to the checkpoint, from there on recorded training."""

from __future__ import annotations

import os
import shutil
import sys
import traceback
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from flor.errors import FlorError, NothingToReplay, ReplayError, RestoreMismatch
from flor.launch import script
from flor.launch.conditions import begin_as_recorded
from flor.launch.handles import ReadLater, insufficient
from flor.launch.inputs import Answering, RecordedInputs
from flor.launch.landing import Landing, short
from flor.launch.liveness import DeadNames
from flor.launch.muting import Muted
from flor.launch.overlay import Overlay
from flor.launch.rewind import Rewinder, content_then
from flor.launch.volatility import Volatile
from flor.model.checkpoints import FilesNow, Key
from flor.model.records import Note, Record, Source
from flor.query.costs import counted
from flor.query.runs import Run
from flor.record import Outcome, Recording, Request, prepare
from flor.replay.history import History
from flor.replay.planning import loops_with_else
from flor.resume.held import held
from flor.resume.inheritance import hand_over, inherited
from flor.resume.judging import check_run, judge_sources
from flor.resume.keeping import Keeping, rewrite
from flor.resume.order import Placing, ResumeOrder
from flor.resume.verb import become
from flor.runtime.guarding import Guarded
from flor.runtime.restoring import Checkpoints, Restorer
from flor.runtime.travelling import Traveller, count_what_was_before
from flor.source.newnames import new_names
from flor.store.layout import Layout
from flor.store.retention.holds import hold
from flor.store.run import open_run

TOLD = 5  # lines at most about files


class Resumed:
    """Everything that is at work in the process of a resumed run."""

    def __init__(self, order: ResumeOrder) -> None:
        self.order = order
        self.run = Run(open_run(Layout(Path(order.store)), order.run))
        check_run(self.run)
        self.edit, self.sources = judge_sources(self.run, force=order.force)
        self.history = History.of(self.run)
        self.never_skip = frozenset(loops_with_else(self.sources))
        present = {name: text.encode() for name, text in self.sources.present.items()}
        self.lacking = insufficient(self.history.checkpoints, ReadLater(self.sources.present))
        without = frozenset((*order.without, *map(str, self.lacking)))
        self.checkpoints = Checkpoints(
            self.run.folder.packs, self.history.checkpoints, DeadNames(present), without=without
        )
        self.target = self._choose()
        self.here = False  # at the checkpoint
        self.answering: Answering | None = None  # until then, if the run noted what the world told it
        self.muted = Muted()
        self.recording: Recording = prepare(self._request())
        self.overlay = Overlay(self.recording.run.path / "beginning", pass_through=[Path(order.store)])
        self.rewinder = Rewinder(self.overlay, self._noted)
        self.keeping = Keeping(self.recording.run.path, self.run.name)
        self.traveller = self._traveller()

    def go_on(self) -> None:
        """Run the script; what it raises after the checkpoint, and its exit, come out unchanged."""
        recording = self.recording
        begin_as_recorded(self.run, recording.stage.imports)
        noted = bool(self.run.facts.get("inputs"))
        recording.open_journal(resumed={"run": self.run.name, "position": self.position}, inputs=noted)
        recording.stage.imports.when("torch", self.overlay.patch_torch)
        recording.stage.follow(recording.session)
        if noted:
            self.answering = self._answering()
            recording.stage.ask(self.answering, pid=self.run.facts["pid"])
        try:
            self._keep_files()
        except Exception as error:
            self._lost(error)
        self.overlay.install()
        self.rewinder.begin(self.history.made)
        self.muted.install()
        try:
            script.run(recording.target, recording.compiler)
        except BaseException as error:
            if not self.here:
                self._ended_before(error)
            recording.outcome = Outcome.of(error)
            raise
        if not self.here:
            self._ended_before(None)
        recording.outcome = Outcome("finished", 0)

    @property
    def position(self) -> str:
        """Where the checkpoint is, for people."""
        return self.target.readable(self.run.loop_names)

    # -- before the checkpoint ---------------------------------------------------------------------

    def _choose(self) -> Key:
        """The last checkpoint that holds all that the script may read after it."""
        for key in reversed(self.history.checkpoints):
            fits = key.iteration is not None or key.execution.loop not in self.never_skip
            if fits and self.checkpoints.usable(key):
                return key
        raise NothingToReplay(
            f"No checkpoint of {self.run.name} can be put in place.",
            where=next(iter(self.lacking.values()), ""),
            todo="Record it again, from its start.",
        )

    def _request(self) -> Request:
        facts = self.run.facts
        words = facts["argv"]
        return Request(
            script=None if facts["module"] else words[0],
            module=facts["module"],
            arguments=tuple(words[1:]),
            store=Path(self.order.store),
            name=self.order.name,
            tolerance=facts["tolerance"],
            tags=tuple(facts["tags"]),
            include=facts.get("include", ()),
            exclude=facts.get("exclude", ()),
            libraries=facts.get("libraries", ()),
            hash_seed=facts["hash_seed"],
        )

    def _keep_files(self) -> None:
        """Copy what the beginning may destroy; then let such files be as they were."""
        self.keeping.keep(self.order.kept)
        self.place_files(self.order.kept)

    def place_files(self, paths: Iterable[str]) -> None:
        """Let files that code other than Python's writes be as the order says, before the script begins."""
        files = self.history.checkpoints[self.target].files
        contents = self.checkpoints.contents(self.target)
        for path in paths:
            is_later = self.history.made.get(path) == "create" and files.get(path, (-1,))[0] < 0
            if self.order.placing is Placing.BEGINNING:
                is_later = self.history.made.get(path) == "create"
            if is_later and self.order.placing is not Placing.LEFT:
                Path(path).unlink(missing_ok=True)
            elif path in files and self.order.placing is Placing.CHECKPOINT:
                content = content_then(path, files[path], contents)
                if content is not None:
                    rewrite(Path(path), content, self.keeping.run / "draft.tmp")

    def _traveller(self) -> Traveller:
        """Put a conductor of our own before the recorder."""
        recording = self.recording
        added = sorted(new_names(self.sources.recorded, self.sources.present))
        restorer = Restorer(
            recording.stage.scopes, self.checkpoints, Volatile(self.sources.present, added), self.rewinder.restore
        )
        traveller = Traveller(self.target, self.checkpoints, restorer, self.never_skip, self._arrived, self._lost)
        traveller.session = recording.session
        recording.session.in_chunks = False
        self._conduct(traveller, self._lost)
        return traveller

    def _answering(self) -> Answering:
        """Answer what the script's beginning asks the world as it was answered then."""
        recording = self.recording
        recorded = RecordedInputs.of(self.history.inputs)
        return Answering(recorded, recording.session, recording.stage.name_of, self._noted)

    def _conduct(self, conductor: Any, on_failure: Any) -> None:
        guarded = self.recording.session.conductor
        assert isinstance(guarded, Guarded)
        guarded.conductor, guarded.on_failure = conductor, on_failure

    def _noted(self, note: Note) -> None:
        """The script's beginning reads a file that the run has changed since, or asks what the run did not ask."""
        if note.kind == "unanswered":
            self.recording.say(f"not sure to be as it was: the record does not say what {note.values['what']} was told")
        if note.kind == "lost file":
            self.recording.say(f"the script reads {note.values['path']}, whose content of that time is lost")

    def _lost(self, error: Exception) -> NoReturn:
        """The checkpoint can't be reached or does not fit: nothing is changed yet, so an earlier one is tried."""
        self._abandon()
        if isinstance(error, RestoreMismatch):
            self.recording.say(f"a checkpoint can't be used: {error.what} An earlier one is tried.")
            self._try_without(error.where)
        if not isinstance(error, FlorError):
            traceback.print_exception(error)
        self._give_up(str(error))

    def _try_without(self, checkpoint: str) -> NoReturn:
        """Begin anew with an earlier checkpoint."""
        become(self.run, replace(self.order, without=(*self.order.without, checkpoint)))

    def _ended_before(self, error: BaseException | None) -> NoReturn:
        """The script came to its end, or raised, on the way."""
        self._abandon()
        if error is not None and not isinstance(error, SystemExit):
            traceback.print_exception(type(error), error, script.trimmed(error.__traceback__))
        what = "raised" if error is not None and not isinstance(error, SystemExit) else "ended"
        self._give_up(str(ReplayError(f"The script {what} before it came to the checkpoint at {self.position}.")))

    def _abandon(self) -> None:
        """Leave nothing behind: the new run has not begun."""
        self.overlay.remove()
        self.muted.remove()
        self.keeping.abandon()
        if not (self.recording.run.path / "aside").exists():  # files of the user's would be in there
            shutil.rmtree(self.recording.run.path, ignore_errors=True)

    def _give_up(self, text: str) -> NoReturn:
        self.recording.say(text)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)

    # -- at the checkpoint -------------------------------------------------------------------------

    def _arrived(self, doubts: list[str]) -> None:
        """Hand over to the recorder: from here on it is training."""
        recording = self.recording
        told = self._land()
        self._take_over()
        self._settle(told)
        recording.written.known.update(self.history.checkpoints[self.target].files)
        recording.written.folders.update(dict.fromkeys(p for p, how in self.history.made.items() if how == "mkdir"))
        recording.written.begun.update(self.history.made)
        self.muted.remove()
        recording.say(f"resuming {self.run.name} at {self.position} as {recording.run.name}")
        for text in [*(f"not sure to be as it was: {doubt}" for doubt in doubts), *told][:TOLD]:
            recording.say(text)
        with self.muted.originals():
            recording.listen()
        if self.answering is not None:
            self.answering.go_on()
            recording.ask(self.history.checkpoints[self.target].inputs)
        self.here = True
        recording.session.in_chunks = True
        self._conduct(recording.recorder, recording._failed)
        shutil.rmtree(recording.run.path / "beginning", ignore_errors=True)

    def _land(self) -> list[str]:
        """Put the files in place for real; what is to be told of them."""
        self.overlay.remove()  # for a moment: this is done to the real files
        holding = frozenset(held(self.keeping.paths))
        self.keeping.put_back(but=holding.__contains__)
        self.overlay.install()
        files = self.history.checkpoints[self.target].files
        free = {path: fact for path, fact in files.items() if path not in holding}
        then = self.checkpoints.files(self.target)
        contents = then.contents
        shapes = {path: shape for path, shape in then.shapes.items() if path not in holding}
        self.rewinder.restore(FilesNow(free, contents, shapes))
        self.landing = Landing(self.overlay, self.rewinder, self.keeping.run / "aside", holding)
        told = self.landing.land(free, self.history.made, shapes)
        for path in sorted(holding):
            if path not in files or content_then(path, files[path], contents) != Path(path).read_bytes():
                told.append(
                    f"{short(path)} is held open by a library or another program: it goes on from what the script's "
                    "beginning made of it, which may not be what it was at the checkpoint"
                )
        return told

    def _settle(self, told: list[str]) -> None:
        """The new run is whole and its files are in place: an attempt that is killed from here on has succeeded."""
        left = sorted({*self.keeping.settle(), *self.landing.set_aside})
        if left:
            names = ", ".join(short(path) for path in left[:3])
            where = short(str(self.landing.aside))
            told.append(f"{counted(len(left), 'file')} as the first run left them ({names}): in {where}")

    def _take_over(self) -> None:
        """Make the new run whole, with the first part in it."""
        recording, run = self.recording, self.run
        append = recording.journal.append
        records = inherited(run, self.history, self.target, self.edit.lines)
        hand_over((record for record in records if not self._is_known(record)), append, run.folder, recording.run)
        append(Note("resumed", {"run": run.name, "position": self.position, "key": self.target.as_json()}))
        times = [record.time for record in self.history.logs]
        count_what_was_before(recording.session.stack, max(times, default=0.0) - min(times, default=0.0))

    def _is_known(self, record: Record) -> bool:
        """True for a source that this process has compiled itself."""
        return isinstance(record, Source) and record.path in self.recording.sources


def main() -> None:
    """Do what the order says."""
    order = ResumeOrder.received(sys.argv[1])
    with hold(Layout(Path(order.store)).run(order.run)):  # no `flor gc` takes away what is about to be restored
        try:
            resumed = Resumed(order)
        except FlorError as error:
            print(f"flor: {error}", file=sys.stderr)
            sys.exit(1)
        resumed.go_on()
