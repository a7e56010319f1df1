"""The workers of a replay: sent off, heard, and sent again if one of them fails."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from flor.errors import ProbeFailed, WorkerFailed
from flor.model.plan import Order
from flor.model.records import Ended, Note, Record
from flor.query.runs import Run
from flor.replay.executors.local import Job, LocalExecutor
from flor.replay.history import History
from flor.replay.orders import write_order
from flor.replay.worker import REFUSED
from flor.store.reader import read_journal

RETRIES = 2


@dataclass
class Crew:
    """Runs orders until each has ended well."""

    run: Run
    history: History
    folder: Path
    at_once: int
    on_progress: Callable[[str], None]

    def work(self, orders: Sequence[Order]) -> dict[int, list[Record]]:
        """Each worker's records, once all have ended well; one that fails is tried again."""
        open_orders = {order.worker: order for order in orders}
        streams: dict[int, list[Record]] = {}
        tries = dict.fromkeys(open_orders, 0)
        while len(streams) < len(open_orders):
            pending = [
                (number, self._written(order, tries[number]))
                for number, order in open_orders.items()
                if number not in streams
            ]
            executor = LocalExecutor(environment(self.run), self.run.facts["cwd"], at_once=max(1, self.at_once))
            for job in executor.run(pending):
                records = self._records(job)
                trouble = self._trouble(job, records)
                if trouble is None:
                    streams[job.number] = records
                    self.on_progress(f"worker {job.number + 1} of {len(open_orders)} is done")
                    continue
                tries[job.number] += 1
                order = open_orders[job.number]
                open_orders[job.number] = self._again(order, job, records, trouble, tries[job.number])
        return streams

    def _again(self, order: Order, job: Job, records: list[Record], trouble: WorkerFailed, tries: int) -> Order:
        """The order for another try: without the checkpoint that did not fit; a process that died gets two more."""
        refused = next((note for note in records if isinstance(note, Note) and note.kind == "refused"), None)
        if job.code != REFUSED or refused is None or refused.values["key"] is None:
            if job.code == 0 or tries > RETRIES:
                raise trouble  # what the script raised once it will raise again
            return order
        without = (*order.without, refused.values["key"])
        segment = order.segment
        if segment.resume is not None and order.plan.main is not None:
            points = [point for point in self.history.resume_points(order.plan.main) if point < segment.resume]
            segment = replace(segment, resume=max(points, default=None))
        return replace(order, without=without, segment=segment)

    def _written(self, order: Order, attempt: int) -> Path:
        path = self.folder / f"w{order.worker}-{attempt}.json"
        for old in self.folder.glob(f"w{order.worker}.*"):
            old.unlink()
        write_order(order, path)
        return path

    def _records(self, job: Job) -> list[Record]:
        found = [path for path in self.folder.glob(f"w{job.number}.*") if path.suffix in (".live", ".journal")]
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


def environment(run: Run) -> dict[str, str]:
    """This environment, with what changes results as it was recorded."""
    facts = run.facts
    values = dict(os.environ)
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "CUBLAS_WORKSPACE_CONFIG", "CUDA_VISIBLE_DEVICES"):
        values.pop(name, None)
    values.update(facts.get("variables", {}))
    if facts.get("hash_seed"):
        values["PYTHONHASHSEED"] = str(facts["hash_seed"])
    values.pop("FLOR_STORE", None)
    values["WANDB_MODE"] = "disabled"  # a replay sends nothing anywhere
    return values
