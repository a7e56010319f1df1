"""The workers of a replay: sent off, heard, and sent again if one of them fails."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from flor.errors import ProbeFailed, WorkerFailed
from flor.launch.conditions import environment, silent_for_children, threads
from flor.launch.wall.choice import Wall
from flor.launch.wall.layer import delete
from flor.model.checkpoints import Key
from flor.model.plan import Order, Segment, worker_name
from flor.model.records import Ended, Note, Record
from flor.query.runs import Run
from flor.replay.children import with_children
from flor.replay.eventfiles import WORK
from flor.replay.executors.local import Job, LocalExecutor, Team, cores
from flor.replay.history import History
from flor.replay.orders import write_order
from flor.replay.place import place_of
from flor.replay.ranks import rendezvous
from flor.replay.saying import Saying
from flor.replay.walls import refused_by_wall
from flor.replay.worker import REFUSED, TRACKERS
from flor.store.reader import read_journal

RETRIES = 2

Streams = dict[tuple[int, int], list[Record]]
"""What each worker said, by segment and rank."""


@dataclass
class Crew:
    """Runs orders until each has ended well."""

    ranks: Sequence[Run]
    history: History
    folder: Path
    at_once: int
    say: Saying = field(default_factory=Saying)
    wall: Wall = Wall.OVERLAY
    orders: dict[int, Order] = field(default_factory=dict)
    streams: Streams = field(default_factory=dict)
    finished: dict[int, list[Record]] = field(default_factory=dict)  # what workers that died had done
    _told: bool = False  # that one was sent again

    def work(self, orders: Sequence[Order]) -> Streams:
        """Each worker's records, once all have ended well; one that fails is tried again."""
        self.orders = {order.worker: order for order in orders}
        tries = dict.fromkeys(self.orders, 0)
        at_once = max(1, self.at_once // len(self.ranks))
        while left := [number for number in self._longest_first() if (number, 0) not in self.streams]:
            executor = LocalExecutor(place_of(self.ranks[0]).now, at_once)
            with closing(executor.run([self._team(number, tries[number]) for number in left])) as ended:
                for team in ended:  # closed at once if one fails for good: then nobody else works on
                    self._hear(team, tries)
        return self.streams

    def _hear(self, team: Team, tries: dict[int, int]) -> None:
        """Keep what a team has done, or have it tried again."""
        said = [self._said(team.number, rank) for rank in range(len(team.jobs))]
        for rank, own in enumerate(said):
            name, names = worker_name(team.number, rank, len(said)), self.ranks[rank].loop_names
            for line in account(own, name, time.monotonic() - team.started, names):
                self.say.detail(line)
        trouble = self._trouble(team, said)
        if trouble is None:
            self._keep(team, said)
            self.say.progress(f"{len(self.streams) // len(self.ranks)} of {len(self.orders)} segments are done")
        else:
            tries[team.number] += 1
            self._again(team, said[team.culprit], trouble, tries[team.number])

    def _longest_first(self) -> list[int]:
        """The orders; which takes longest should not begin last."""
        main = self.history.main()
        if main is None:
            return list(self.orders)

        def cost(number: int) -> float:
            segment = self.orders[number].segment
            return main.cost(segment.start, main.iterations if segment.stop is None else segment.stop)

        return sorted(self.orders, key=cost, reverse=True)

    def so_far(self) -> Streams:
        """What there is if no more is waited for: the records of workers that were stopped, too."""
        for number in self.orders:
            for rank in range(len(self.ranks)):
                said = [*self.finished.get(number, ()), *_behind_start(self._said(number, rank))]
                self.streams.setdefault((number, rank), said)
        return self.streams

    def _team(self, number: int, attempt: int) -> Team:
        """The processes of one segment, their orders written."""
        order, meeting = self.orders[number], rendezvous(len(self.ranks))
        jobs = []
        for rank, run in enumerate(self.ranks):
            own_order = replace(order, rank=rank, ranks=len(self.ranks))
            path = self.folder / f"{own_order.name}-{attempt}.json"
            for old in self.folder.glob(f"{own_order.name}.*"):
                old.unlink()
            for left in (
                f"{WORK}{own_order.name}",
                f"files-{own_order.name}",
                f"{TRACKERS}{own_order.name}",
            ):  # by an earlier try
                delete(self.folder / left)
            write_order(own_order, path)
            own = {"RANK": str(rank), "ROLE_RANK": str(rank)} if meeting else {}
            jobs.append(Job(path, {**self._environment(run), **meeting, **own}))
        return Team(number, jobs)

    def _environment(self, run: Run) -> Mapping[str, str]:
        """The environment of the record, in which nothing is sent anywhere.

        Threads that wait for each other spin, so as to lose no time. Where there are more threads than cores, they spin
        on the core that the other worker needs, and both take many times as long. How they wait changes no result.
        """
        made = silent_for_children(environment(run))
        if min(self.at_once, len(self.orders) * len(self.ranks)) * threads(run) > cores():
            made.setdefault("OMP_WAIT_POLICY", "passive")
        return made

    def _said(self, number: int, rank: int) -> list[Record]:
        name = worker_name(number, rank, len(self.ranks))
        found = [path for suffix in (".journal", ".live") if (path := self.folder / f"{name}{suffix}").exists()]
        said = list(read_journal(found[0])) if found else []
        return with_children(said, self.folder, name, self.orders[number].probe_lines)

    def _keep(self, team: Team, said: Sequence[list[Record]]) -> None:
        before = self.finished.get(team.number, [])
        for rank, own in enumerate(said):
            self.streams[team.number, rank] = [*before, *_behind_start(own)] if before else own

    def _again(self, team: Team, said: list[Record], trouble: WorkerFailed, tries: int) -> None:
        """Another try: without the checkpoint that did not fit, or from where a process had come when it died."""
        order, code = self.orders[team.number], team.jobs[team.culprit].code
        refused = next((note for note in said if isinstance(note, Note) and note.kind == "refused"), None)
        if code == REFUSED and refused is not None and refused.values["key"] is not None:
            less = self._without(order, refused.values["key"])
            if refused.values["key"] in order.without and less.segment == order.segment:
                raise trouble  # nothing is left to be done without
            self.orders[team.number] = less
            place = self._place(refused.values["key"])
            self._tell_again(team.number, f"the checkpoint at {place} was refused", less.segment)
            self.say.detail(f"worker {team.number}: {refused.values['error']}")
        elif code == 0 or tries > RETRIES:
            raise trouble  # what the script raised once it will raise again
        elif len(team.jobs) == 1:
            again = self.orders[team.number] = self._behind_what_is_done(order, said)
            self._tell_again(team.number, f"it ended with code {code}", again.segment)
        else:
            self._tell_again(team.number, f"it ended with code {code}", order.segment)

    def _place(self, text: str) -> str:
        """Where the checkpoint is that a worker names, for people."""
        key = next((key for key in self.history.checkpoints if str(key) == text), None)
        return key.readable(self.ranks[0].loop_names) if key is not None else text

    def _tell_again(self, number: int, why: str, segment: Segment) -> None:
        """Say that a worker is sent again; more than the first time only to one who wants to know everything."""
        point = "the beginning" if segment.resume is None else f"iteration {segment.resume}"
        say = self.say.detail if self._told else self.say.tell
        self._told = True
        say(f"worker {number} is sent again, from {point}: {why}")

    def _without(self, order: Order, key: str) -> Order:
        segment = order.segment
        if segment.resume is not None and order.plan.main is not None:
            points = [point for point in self.history.resume_points(order.plan.main) if point < segment.resume]
            segment = replace(segment, resume=max(points, default=None))
        return replace(order, without=(*order.without, key), segment=segment)

    def _behind_what_is_done(self, order: Order, said: list[Record]) -> Order:
        """The rest of the segment, from the last checkpoint that the worker came by in the state of the record."""
        done = None if order.plan.carries else last_good_point(said, order)
        if done is None:
            return order
        index, iteration = done
        self.finished[order.worker] = [*self.finished.get(order.worker, []), *_behind_start(said[:index])]
        return replace(order, segment=Segment(iteration, order.segment.stop, iteration))

    def _trouble(self, team: Team, all_said: Sequence[list[Record]]) -> WorkerFailed | None:
        """Why a team's result can't be used; a probe that raised is the user's own error."""
        for rank, (job, said) in enumerate(zip(team.jobs, all_said, strict=True)):
            raised = next((note for note in said if isinstance(note, Note) and note.kind == "raised"), None)
            if raised is not None and raised.values["probe"]:
                raise ProbeFailed(
                    f"The probe at {raised.values['probe']} raised{_where(raised)}.\n{raised.values['traceback']}",
                    todo="Mend it and replay again.",
                )
            if job.code == 0 and any(isinstance(record, Ended) for record in said):
                if raised is not None and self.ranks[rank].ended.get("status") == "finished":
                    return WorkerFailed(
                        f"The script raised on replay, though it had not when it was recorded.\n"
                        f"{raised.values['traceback']}",
                        where=f"worker {team.number}",
                        todo=refused_by_wall(self.wall, raised.values["traceback"]),
                    )
                continue
            culprit = team.jobs[team.culprit] if job.code is None or job.code < 0 else job
            return WorkerFailed(
                f"Worker {team.number} ended with code {culprit.code}.\n{culprit.tail()}",
                where=f"run {self.ranks[0].name}",
            )
        return None


def account(said: Sequence[Record], name: str, seconds: float, names: dict[str, str]) -> list[str]:
    """What one worker did, in lines for `--verbose`."""
    notes = [record for record in said if isinstance(record, Note)]
    ended = next((record.values for record in said if isinstance(record, Ended)), {})
    lines = [f"{name}: {ended.get('status', 'ended without a word')} after {seconds:.1f} s"]
    for note in notes:
        if note.kind == "segment":
            lines.append(
                f"{name}: came to iteration {note.values['start']} after {note.values.get('seconds', 0.0):.1f} s"
            )
        elif note.kind == "restored":
            lines.append(
                f"{name}: restored {Key.from_json(note.values).readable(names)} in {note.values['seconds']:.3f} s"
            )
        elif note.kind == "refused":
            lines.append(f"{name}: refused a checkpoint: {note.values['error']}")
    for loop, (executed, skipped) in ended.get("loops", {}).items():
        lines.append(f"{name}: {loop} was executed {executed} times and skipped {skipped} times")
    return lines


def last_good_point(said: Sequence[Record], order: Order) -> tuple[int, int] | None:
    """Where in its records, and at which iteration, a worker last found the recorded state at a resume point."""
    for index in range(len(said) - 1, -1, -1):
        note = said[index]
        if isinstance(note, Note) and note.kind == "checked" and not note.values["differences"]:
            key = Key.from_json(note.values)
            if key.execution == order.plan.main and key.iteration is not None and key.iteration > order.segment.start:
                return index, key.iteration
    return None


def _behind_start(said: list[Record]) -> list[Record]:
    """What a worker said from the beginning of its segment on."""
    for index, record in enumerate(said):
        if isinstance(record, Note) and record.kind == "segment":
            return said[index:]
    return []


def _where(raised: Note) -> str:
    position = raised.values.get("position")
    return f" at {position}" if position else ""
