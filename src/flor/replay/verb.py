"""Replay from end to end: what was added, what to do, doing it, and whether it is exact."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass, replace
from pathlib import Path

from flor.errors import Damaged, EditRefused, NothingToReplay, ProbeFailed, ReplayError, Stopped, WorkerFailed
from flor.launch.handles import ReadLater, insufficient
from flor.launch.wall.choice import Wall, best_wall
from flor.launch.wall.layer import delete
from flor.model.edits import Edit
from flor.model.plan import Order, Plan, Segment
from flor.model.positions import readable
from flor.query.costs import counted
from flor.query.runs import Run
from flor.replay.children import MARK, about_children, children_print
from flor.replay.crew import Crew, Streams
from flor.replay.eventfiles import KEPT, WORK, deliver
from flor.replay.history import History
from flor.replay.keeping import answer, keep, new_folder, question
from flor.replay.libraries import check_libraries
from flor.replay.merging import Findings, Merged, Merger
from flor.replay.place import place_of
from flor.replay.planning import Sources, doubtful_lines, loops_with_else, make_plan, probe_lines
from flor.replay.ranks import in_common, not_in_common, ranks_of
from flor.replay.result import Result
from flor.replay.saying import Saying
from flor.replay.sources import check_syntax, present_sources, recorded_sources
from flor.replay.surroundings import changed_inputs, changed_packages, other_versions
from flor.replay.telling import told
from flor.replay.walls import MEANING, check_wall
from flor.replay.weaving import Extent, Parts, weave
from flor.source.logcalls import printing_lines
from flor.source.newnames import new_names
from flor.source.probes import diff_sources
from flor.source.rates import own_names
from flor.source.volatile import volatile_lines
from flor.store.layout import Layout
from flor.store.restores import note_restore

SILENT = Saying()
LEFTOVERS = ("files*", f"{WORK}*", "*.json", "*.done", f"*{MARK}*")  # what workers leave in a replay's folder


@dataclass(frozen=True)
class Wish:
    """What the user asked to be replayed, and how."""

    workers: int = 1
    sparing: bool = False  # fewer workers, where more would take longer to start than to work
    epochs: tuple[int | None, int | None] | None = None
    probes: tuple[str, ...] = ()
    force: bool = False
    wall: str | None = None  # the best that this machine allows
    yes: bool = False  # files of the user's may change, where nothing can keep them apart
    volatile: tuple[str, ...] = ()  # variables and values that the user says differ from run to run
    tensorboard: Path | None = None  # where event files go; else under the replay's own folder


class Replay:
    """One replay of one run."""

    def __init__(self, run: Run, wish: Wish) -> None:
        self.run = run
        self.wish = wish
        if not run.sources:
            raise NothingToReplay(f"{run.name} has executed no source file.", todo="Record it again.")
        if not run.facts:
            raise NothingToReplay(f"{run.name} ended before it had noted how it was begun.", todo="Record it again.")
        if run.damage and not wish.force:
            fragment, damage = run.damage[0]
            raise Damaged(
                f"The record of {run.name} is damaged: {damage.reason}.",
                where=f"{fragment} at byte {damage.offset}",
                todo="`flor fsck` lists all damage; with --force it is replayed, and values may differ.",
            )
        self.ranks = ranks_of(run)
        present = present_sources(run, wish.probes)
        check_syntax(present)
        recorded = recorded_sources(run)
        self.edit: Edit = diff_sources(recorded, present)
        self.sources = Sources(recorded, {name: text for name, text in present.items() if text is not None})
        self.histories = [History.of(rank) for rank in self.ranks]
        self.history = in_common(self.histories)
        self.lacking = insufficient(self.history.checkpoints, ReadLater(self.sources.present, self.sources.loop_ids()))
        held = {key: one for key, one in self.history.checkpoints.items() if key not in self.lacking}
        self.history = replace(self.history, checkpoints=held)
        kept = [(len(history.logs), len(history.loops), history.complete) for history in self.histories]
        self.asked = question(  # a run may still be going
            self.sources.present, epochs=wish.epochs, volatile=wish.volatile, kept=kept
        )
        self.warnings: list[str] = ["forced: the record is damaged"] if run.damage else []
        self._judge_edit()

    def plan(self) -> Plan:
        """What would be done."""
        wish = self.wish
        return make_plan(
            self.edit, self.sources, self.history, workers=wish.workers, epochs=wish.epochs, sparing=wish.sparing
        )

    def perform(self, say: Saying = SILENT) -> Result:
        """Do it; a result with an `error` has what was computed before that."""
        begun = time.perf_counter()
        plan = self.plan()
        if self.lacking:
            say.tell(f"{len(self.lacking)} checkpoints are not used: {next(iter(self.lacking.values()))}")
        say.detail(f"planned in {time.perf_counter() - begun:.1f} s: {counted(len(plan.segments), 'worker')}")
        for text in (*plan.reasons, *(f"worker {n}: {segment}" for n, segment in enumerate(plan.segments))):
            say.detail(text)
        recorded = self.history.logs
        if not self.edit.probes and not self.edit.others:
            merged = [
                Merged("recorded", record, rank)
                for rank, history in enumerate(self.histories)
                for record in history.logs
            ]
            told = list(self.warnings)
            return Result(merged, Findings(), replace(plan, segments=()), time.perf_counter() - begun, warnings=told)
        may_answer = len(self.ranks) == 1 and self.wish.tensorboard is None
        known = answer(self.run, self.asked, recorded, plan) if may_answer else None
        if known is not None:
            known.seconds = time.perf_counter() - begun
            return known
        result = self._attempt(plan, begun, say)
        if not self._may_mend(result):
            return result
        if result.folder is not None:  # a failed one is done again as a whole; of another one, its event files
            shutil.rmtree(result.folder if result.error else result.folder / KEPT, ignore_errors=True)
        # Slower, never wrong: a deterministic program executed from its start is the oracle by construction.
        why = result.error.what if result.error else str(result.findings.divergences[0])
        say.tell(f"executing from the beginning, since the checkpoints did not suffice: {why.splitlines()[0]}")
        say.progress("the checkpoints did not suffice: once more, from the beginning")
        again = self._attempt(from_the_start(plan), begun, say, without_checkpoints=True)
        if again.exact or result.error:
            again.notes.append(f"executed from the beginning, since the checkpoints did not suffice: {why}")
        return again

    def _may_mend(self, result: Result) -> bool:
        """True if executing all of it could still be exact: something was restored, and no probe is to blame."""
        if result.error is not None:
            return bool(self.history.checkpoints) and not isinstance(result.error, Stopped)
        if result.exact:
            return False
        blamed = any(divergence.by_probe for divergence in result.findings.divergences)
        return bool(result.restored) and not blamed and not self.edit.others

    def _attempt(self, plan: Plan, begun: float, say: Saying, *, without_checkpoints: bool = False) -> Result:
        """Run the plan's workers and merge what they logged."""
        folder = new_folder(self.run)
        try:
            return self._with(plan, folder, begun, say, without_checkpoints)
        finally:
            for leftover in [path for glob in LEFTOVERS for path in folder.glob(glob)]:
                delete(leftover) if leftover.is_dir() else leftover.unlink()

    def _with(self, plan: Plan, folder: Path, begun: float, say: Saying, without_checkpoints: bool) -> Result:
        orders = self._orders(plan, folder)
        wall = Wall(orders[0].wall)
        check_wall(wall, {path for history in self.histories for path in history.unseen}, yes=self.wish.yes)
        (say.tell if wall is Wall.PYTHON and not without_checkpoints else say.detail)(f"wall {wall}: {MEANING[wall]}")
        if without_checkpoints:
            keys = tuple(str(key) for key in self.history.checkpoints if key.iteration is None)
            orders = [replace(order, without=(*order.without, *keys)) for order in orders]
        crew = Crew(self.ranks, self.history, folder, self.wish.workers, say, wall)
        error: ReplayError | None = None
        try:
            crew.work(orders)
        except KeyboardInterrupt:
            error = Stopped("The replay was stopped.")
        except (WorkerFailed, ProbeFailed) as failure:
            error = failure
        worked = time.perf_counter()
        result = self._merged(plan, crew.so_far() if error else crew.streams, stopped=error is not None)
        say.detail(f"merged {len(result.merged)} records in {time.perf_counter() - worked:.1f} s")
        result.told += told(
            result, crew.streams.values(), own_names(self.sources.recorded), noted=bool(self.run.facts.get("inputs"))
        )
        result.told += [
            *changed_inputs(self.history, place_of(self.run)),
            *other_versions(self.run, crew.streams.values()),
            *changed_packages(self.run),
        ]
        result.told += about_children(crew.streams.values())
        self.history.children_print |= children_print(crew.streams.values())
        result.events = deliver(folder, self.wish.tensorboard if result.exact else None)
        result.folder = folder
        result.seconds = time.perf_counter() - begun
        self._keep(folder, result)
        if error is not None:
            result.error = self._with_what_there_is(error, result)
        return result

    def _with_what_there_is(self, error: ReplayError, result: Result) -> ReplayError:
        """The error, with how many values were computed before it and where the first one is missing."""
        values = len(result.hindsight)
        todo = [error.todo] if error.todo else []
        todo += changed_inputs(self.history, place_of(self.run)) if isinstance(error, WorkerFailed) else []
        todo += [f"{counted(values, 'value')} computed before are kept: `flor logs {self.run.name}`."] if values else []
        behind = values - sum(merged.origin == "hindsight" for merged in result.unbroken)
        if behind:
            gap = result.gaps[0]
            place = readable(gap.position, self.run.loop_names) if gap.position else f"iteration {gap.segment.start}"
            todo.append(f"{behind} of them come behind a gap after {place} and are not printed.")
        return type(error)(error.what, where=error.where, todo=" ".join(todo))

    def _keep(self, folder: Path, result: Result) -> None:
        names = {f"+{loop.id}": loop.name for loop in self.sources.present_loops()}
        for rank in range(len(self.ranks)):
            keep(folder, result, self.asked, names, rank)

    def _merged(self, plan: Plan, streams: Streams, *, stopped: bool = False) -> Result:
        """One stream out of many, rank by rank; what a stopped replay has not done is not missed."""
        merger = self.merger()
        result = Result([], merger.findings, plan, 0.0, warnings=list(self.warnings), stopped=stopped)
        for rank, history in enumerate(self.histories):
            own = {number: events for (number, of_rank), events in streams.items() if of_rank == rank}
            extent = Extent(history.cut_off, stopped, history.failed)
            found = list(weave(plan, self.parts(plan, rank), merger, own, extent))
            result.merged += [replace(merged, rank=rank) for merged in found] if rank else found
            result.gaps += merger.gaps
        for events in streams.values():
            result.count(events)
        if result.restored:  # later recordings learn from it what a restore costs
            note_restore(
                Layout(self.run.folder.path.parent.parent), restore=result.restoring, materialize=result.materializing
            )
        return result

    def merger(self) -> Merger:
        """What compares the workers' records with this run's."""
        recorded, names = self.sources.recorded, self.wish.volatile
        volatile, prints = volatile_lines(recorded, names), printing_lines(recorded)
        return Merger(
            self.edit.lines,
            lambda file, line: (file, line) in volatile,
            lambda file, line: (file, line) in prints,
            names=frozenset(names),
            own=own_names(recorded),
        )

    def parts(self, plan: Plan, rank: int = 0) -> Parts:
        """The recorded logs, to be cut at iterations of the main loop."""
        history = self.histories[rank]
        logs = history.logs
        main = None if plan.skip_main else plan.main
        return Parts(logs, main, history.ends.get(main, len(logs)) if main is not None else len(logs))

    # -- the edit ----------------------------------------------------------------------------------

    def _judge_edit(self) -> None:
        """Refuse what is no probe, unless forced."""
        if not self.wish.force:
            check_libraries(self.run, self.edit)
        refused = [probe for probe in self.edit.probes if probe.refused]
        if (self.edit.others or refused) and not self.wish.force:
            raise EditRefused(
                "The sources differ from the recorded ones by more than log statements.\n" + self._why(),
                where=f"run {self.run.name}",
                todo="Undo that edit, or use --force to replay all the same (the values may then differ).",
            )
        if self.edit.others or refused:
            self.warnings.append("forced: the sources differ by more than log statements\n" + self._why())

    def _why(self) -> str:
        texts = [f"{change.file}: {change.what}\n{change.diff}".rstrip() for change in self.edit.others]
        for probe in self.edit.probes:
            texts += [
                f"{probe.file}:{doubt.line}: {doubt.reason}" for doubt in probe.doubts if doubt.level == "certain"
            ]
        return "\n".join(texts)

    # -- the workers -------------------------------------------------------------------------------

    def _orders(self, plan: Plan, folder: Path) -> list[Order]:
        facts = self.run.facts
        base = Order(
            run=self.run.name,
            store=str(self.run.folder.path.parent.parent),
            folder=str(folder),
            worker=0,
            segment=plan.segments[0],
            plan=plan,
            argv=tuple(facts["argv"]),
            script=facts["script"],
            module=facts["module"],
            sources=dict(self.sources.present),
            loops=self.sources.loop_ids(),
            probe_lines=probe_lines(self.edit),
            doubtful=doubtful_lines(self.edit),
            never_skip=tuple(sorted(loops_with_else(self.sources))),
            new_names=tuple(sorted(new_names(self.sources.recorded, self.sources.present))),
            without=(*not_in_common(self.histories), *map(str, self.lacking)),
            writes=tuple(sorted({path for history in self.histories for path in history.made})),
            cwd=place_of(self.run).then,
            shown=place_of(self.run).shown,
            wall=best_wall(folder, self.wish.wall),
            volatile=self.wish.volatile,
        )
        return [replace(base, worker=number, segment=segment) for number, segment in enumerate(plan.segments)]


def from_the_start(plan: Plan) -> Plan:
    """The same in one piece, executed from the script's beginning."""
    segment = Segment(plan.segments[0].start, plan.segments[-1].stop, None)
    return replace(plan, segments=(segment,), skip_main=False)
