"""Replay from end to end: what was added, what to do, doing it, and whether it is exact."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from flor.errors import EditRefused, NothingToReplay, ProbeFailed, WorkerFailed
from flor.model.edits import Edit
from flor.model.plan import Order, Plan, Segment
from flor.model.records import Ended, Note, Record
from flor.query.runs import Run
from flor.replay.executors.local import Job, LocalExecutor
from flor.replay.history import History
from flor.replay.merging import Findings, Merged, Merger, Parts
from flor.replay.orders import write_order
from flor.replay.planning import Sources, doubtful_lines, loops_with_else, make_plan, new_names, probe_lines
from flor.replay.sources import present_sources, recorded_sources
from flor.replay.worker import REFUSED
from flor.source.probes import diff_sources
from flor.source.volatile import volatile_lines
from flor.store.journal import JournalWriter
from flor.store.names import propose
from flor.store.reader import read_journal

RETRIES = 2


@dataclass(frozen=True)
class Wish:
    """What the user asked to be replayed, and how."""

    workers: int = 1
    epochs: tuple[int | None, int | None] | None = None
    probes: tuple[str, ...] = ()
    force: bool = False


@dataclass
class Result:
    """What a replay yielded."""

    merged: list[Merged]
    findings: Findings
    plan: Plan
    seconds: float
    executed: int = 0
    skipped: int = 0
    restored: int = 0
    notes: list[str] = field(default_factory=list)  # why it took longer than planned
    warnings: list[str] = field(default_factory=list)

    @property
    def exact(self) -> bool:
        """True if all that could be compared is equal."""
        return self.findings.exact and not self.warnings

    def summary(self) -> dict[str, Any]:
        """The last object of `--json`."""
        return {
            "verdict": "exact" if self.exact else "diverged",
            "seconds": round(self.seconds, 3),
            "workers": len(self.plan.segments),
            "blocks_executed": self.executed,
            "blocks_skipped": self.skipped,
            "segments": [[segment.start, segment.stop] for segment in self.plan.segments],
            "values_identical": self.findings.identical,
            "values_volatile": self.findings.volatile,
            "checkpoints_identical": self.findings.checkpoints if self.findings.exact else None,
            "divergences": [str(divergence) for divergence in self.findings.divergences[:5]],
            "warnings": self.warnings,
        }


class Replay:
    """One replay of one run."""

    def __init__(self, run: Run, wish: Wish) -> None:
        self.run = run
        self.wish = wish
        if not run.sources:
            raise NothingToReplay(f"{run.name} has executed no source file.", todo="Record it again.")
        if len(run.folder.fragments()) > 1:
            raise NothingToReplay(
                f"{run.name} was trained by {len(run.folder.fragments())} processes together.",
                todo="Replay knows runs of one process only, so far; its logs can be read with `flor logs`.",
            )
        present = present_sources(run, wish.probes)
        recorded = recorded_sources(run)
        self.edit: Edit = diff_sources(recorded, present)
        self.sources = Sources(recorded, {name: text for name, text in present.items() if text is not None})
        self.history = History.of(run)
        self.warnings: list[str] = []
        self._judge_edit()

    def plan(self) -> Plan:
        """What would be done."""
        return make_plan(self.edit, self.sources, self.history, workers=self.wish.workers, epochs=self.wish.epochs)

    def perform(self, on_progress: Callable[[str], None] = lambda _: None) -> Result:
        """Do it."""
        begun = time.perf_counter()
        plan = self.plan()
        recorded = self.history.logs
        if not self.edit.probes and not self.edit.others:
            merged = [Merged("recorded", record) for record in recorded]
            return Result(merged, Findings(), replace(plan, segments=()), time.perf_counter() - begun)
        try:
            result = self._attempt(plan, begun, on_progress)
            trouble: WorkerFailed | None = None
        except WorkerFailed as error:
            result, trouble = None, error
        if result is not None and (result.exact or not self._may_mend(result)):
            return result
        # Slower, never wrong: a deterministic program executed from its start is the oracle by construction.
        on_progress("the checkpoints did not suffice: once more, from the beginning")
        again = self._attempt(from_the_start(plan), begun, on_progress, without_checkpoints=True)
        if again.exact or result is None:
            again.notes.append(str(trouble or (result and result.findings.divergences[0])))
        return again

    def _may_mend(self, result: Result) -> bool:
        """True if executing all of it could still be exact: something was restored, and no probe is to blame."""
        blamed = any(divergence.by_probe for divergence in result.findings.divergences)
        return bool(result.restored) and not blamed and not self.edit.others

    def _attempt(
        self, plan: Plan, begun: float, on_progress: Callable[[str], None], *, without_checkpoints: bool = False
    ) -> Result:
        """Run the plan's workers and merge what they logged."""
        folder = self._folder()
        try:
            return self._with(plan, folder, begun, on_progress, without_checkpoints)
        finally:
            for leftover in [*folder.glob("files*"), *folder.glob("*.json")]:
                shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()

    def _with(
        self, plan: Plan, folder: Path, begun: float, on_progress: Callable[[str], None], without_checkpoints: bool
    ) -> Result:
        streams = self._run_workers(plan, folder, on_progress, without_checkpoints)
        volatile = volatile_lines(self.sources.recorded)
        merger = Merger(self.edit.lines, lambda file, line: (file, line) in volatile)
        result = Result([], merger.findings, plan, 0.0, warnings=list(self.warnings))
        parts = self._parts(plan)
        first, last = plan.segments[0], plan.segments[-1]
        if first.start:
            result.merged += [Merged("recorded", record) for record in parts.recorded[: parts.at(first.start)]]
        for number, segment in enumerate(plan.segments):
            events = streams[number]
            part = parts.of(segment, first=number == 0)
            result.merged += merger.merge(part, events, whole=self.history.complete)
            self._count(result, events)
        if last.stop is not None:
            result.merged += [Merged("recorded", record) for record in parts.recorded[parts.at(last.stop) :]]
        result.seconds = time.perf_counter() - begun
        self._keep(folder, result)
        return result

    def _parts(self, plan: Plan) -> Parts:
        logs = self.history.logs
        main = None if plan.skip_main else plan.main
        return Parts(logs, main, self.history.ends.get(main, len(logs)) if main is not None else len(logs))

    # -- the edit ----------------------------------------------------------------------------------

    def _judge_edit(self) -> None:
        """Refuse what is no probe, unless forced."""
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

    def _folder(self) -> Path:
        """A new folder for this replay's results."""
        replays = self.run.folder.path / "replays"
        replays.mkdir(mode=0o700, exist_ok=True)
        while True:
            folder = replays / f"{time.time_ns():020d}-{propose()}"
            try:
                folder.mkdir(mode=0o700)
                return folder
            except FileExistsError:
                continue

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
            new_names=tuple(sorted(new_names(self.sources))),
        )
        return [replace(base, worker=number, segment=segment) for number, segment in enumerate(plan.segments)]

    def _run_workers(
        self, plan: Plan, folder: Path, on_progress: Callable[[str], None], without_checkpoints: bool
    ) -> dict[int, list[Record]]:
        """Each worker's records, once all have ended well; one that fails is tried again."""
        orders = dict(enumerate(self._orders(plan, folder)))
        if without_checkpoints:
            keys = tuple(str(key) for key in self.history.checkpoints if key.iteration is None)
            orders = {number: replace(order, without=keys) for number, order in orders.items()}
        streams: dict[int, list[Record]] = {}
        tries = dict.fromkeys(orders, 0)
        while len(streams) < len(orders):
            pending = [(number, self._written(orders[number], folder, tries[number]))
                       for number in orders if number not in streams]  # fmt: skip
            executor = LocalExecutor(self._environment(), self.run.facts["cwd"], at_once=max(1, self.wish.workers))
            for job in executor.run(pending):
                records = self._records(job, folder)
                trouble = self._trouble(job, records)
                if trouble is None:
                    streams[job.number] = records
                    on_progress(f"worker {job.number + 1} of {len(orders)} is done")
                    continue
                tries[job.number] += 1
                if tries[job.number] > RETRIES + len(self.history.checkpoints):
                    raise trouble
                orders[job.number] = self._again(orders[job.number], job, records, trouble)
        return streams

    def _again(self, order: Order, job: Job, records: list[Record], trouble: WorkerFailed) -> Order:
        """The order for another try: without the checkpoint that did not fit."""
        refused = next((note for note in records if isinstance(note, Note) and note.kind == "refused"), None)
        if job.code != REFUSED or refused is None:
            if len(order.without) >= RETRIES:
                raise trouble
            return replace(order, without=(*order.without, f"retry {len(order.without)}"))
        without = (*order.without, refused.values["key"])
        segment = order.segment
        if segment.resume is not None and order.plan.main is not None:
            points = [point for point in self.history.resume_points(order.plan.main) if point < segment.resume]
            segment = replace(segment, resume=max(points, default=None))
        return replace(order, without=without, segment=segment)

    def _written(self, order: Order, folder: Path, attempt: int) -> Path:
        path = folder / f"w{order.worker}-{attempt}.json"
        for old in folder.glob(f"w{order.worker}.*"):
            old.unlink()
        write_order(order, path)
        return path

    def _records(self, job: Job, folder: Path) -> list[Record]:
        found = [path for path in folder.glob(f"w{job.number}.*") if path.suffix in (".live", ".journal")]
        return list(read_journal(found[0])) if found else []

    def _trouble(self, job: Job, records: list[Record]) -> WorkerFailed | None:
        """Why a worker's result can't be used; a probe that raised is the user's own error."""
        raised = next((note for note in records if isinstance(note, Note) and note.kind == "raised"), None)
        if raised is not None and raised.values["probe"]:
            raise ProbeFailed(
                f"The probe at {raised.values['probe']} raised.\n{raised.values['traceback']}",
                todo="Mend it and replay again.",
            )
        if job.code == 0 and any(isinstance(record, Ended) for record in records):
            if raised is not None and self.run.ended.get("status") == "finished":
                return WorkerFailed(
                    f"The script raised on replay, though it had not when it was recorded.\n"
                    f"{raised.values['traceback']}",
                    where=f"worker {job.number}",
                )
            return None
        return WorkerFailed(
            f"Worker {job.number} ended with code {job.code}.\n{job.tail()}", where=f"run {self.run.name}"
        )

    def _environment(self) -> dict[str, str]:
        """This environment, with what changes results as it was recorded."""
        facts = self.run.facts
        environment = dict(os.environ)
        for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "CUBLAS_WORKSPACE_CONFIG", "CUDA_VISIBLE_DEVICES"):
            environment.pop(name, None)
        environment.update(facts.get("variables", {}))
        if facts.get("hash_seed"):
            environment["PYTHONHASHSEED"] = str(facts["hash_seed"])
        environment.pop("FLOR_STORE", None)
        return environment

    # -- the results -------------------------------------------------------------------------------

    def _count(self, result: Result, events: Sequence[Record]) -> None:
        for event in events:
            if isinstance(event, Ended):
                result.executed += int(event.values.get("executed", 0))
                result.skipped += int(event.values.get("skipped", 0))
                result.restored += int(event.values.get("restored", 0))
                if event.values.get("lost"):
                    result.warnings.append(f"{event.values['lost']} log records could not be kept")
                result.warnings += [f"not isolated: {escape}" for escape in event.values.get("escapes", ())]

    def _keep(self, folder: Path, result: Result) -> None:
        """The probes' records as a journal beside the run's own."""
        path = folder / "hindsight.live"
        journal = JournalWriter.create(path)
        names = {f"+{loop.id}": loop.name for loop in self.sources.present_loops()}
        journal.append(Note("loops", {"names": names}))
        for merged in result.merged:
            if merged.origin == "hindsight":
                journal.append(merged.record)
        journal.seal(Ended(result.summary()))


def from_the_start(plan: Plan) -> Plan:
    """The same in one piece, executed from the script's beginning."""
    segment = Segment(plan.segments[0].start, plan.segments[-1].stop, None)
    return replace(plan, segments=(segment,), skip_main=False)


def stdout_pieces(result: Result, everything: bool) -> Iterator[bytes]:
    """What goes to stdout: the probes' pieces, or all of them."""
    from flor.model.records import Channel

    for merged in result.merged:
        if merged.record.channel is Channel.STDOUT and (everything or merged.origin == "hindsight"):
            yield merged.record.data
