"""Record a program, then continue it from every checkpoint, and replay it with probes: what is not exact is said."""

from __future__ import annotations

import ast
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zygote import Ran, Zygote

from flor.launch.handles import ReadLater, insufficient
from flor.model.checkpoints import Key
from flor.model.plan import Order, Plan, Segment
from flor.model.positions import Execution
from flor.model.records import Channel, LogRecord, Note, Record
from flor.query.runs import Run, run
from flor.replay.history import History
from flor.replay.orders import write_order
from flor.replay.planning import Sources, loops_with_else
from flor.replay.sources import recorded_sources
from flor.replay.worker import REFUSED
from flor.source.blocks import find_loops
from flor.store.reader import read_journal

EXACT, REFUSES, RAISES, WRONG = "exact", "refused", "raised", "WRONG"


@dataclass(frozen=True)
class Continued:
    """What came of going on from one checkpoint."""

    key: Key
    verdict: str
    why: str = ""

    def __str__(self) -> str:
        place = "end" if self.key.iteration is None else f"iteration {self.key.iteration}"
        parent = "/".join(str(level.iteration) for level in self.key.execution.parent)
        return f"{self.key.execution.loop} [{parent}] {place}: {self.verdict} {self.why}"


@dataclass
class Recorded:
    """A recorded run, ready to be continued from its checkpoints."""

    zygote: Zygote
    folder: Path
    ran: Ran
    found: Run
    history: History
    bug: str | None = None
    volatile: tuple[str, ...] = ()  # patterns of what differs from run to run
    _tries: int = 0

    @property
    def refusals(self) -> dict[str, str]:
        """The places where the state could not be taken, with the reason: replay executes there."""
        refused: dict[str, str] = self.found.ended.get("checkpoints", {}).get("refused", {})
        return refused

    def keys(self, most: int | None = None) -> list[Key]:
        """The checkpoints that replay may use, or that many of them, spread evenly."""
        texts = recorded_sources(self.found)
        never = loops_with_else(Sources(texts, texts))
        held = self.history.checkpoints
        lacking = insufficient(held, ReadLater(texts))
        usable = (key for key in held if key.iteration is not None or key.execution.loop not in never)
        keys = sorted((key for key in usable if key not in lacking), key=str)
        if most is None or len(keys) <= most:
            return keys
        return [keys[number * (len(keys) - 1) // (most - 1)] for number in range(most)]

    def continue_from(self, key: Key) -> Continued:
        """Restore this checkpoint and no other, go on to the end, and compare what is logged from there on."""
        self._tries += 1
        folder = self.folder.parent / f"{self.folder.name}.forced{self._tries}"
        folder.mkdir()
        order = folder / "order.json"
        write_order(self._order(key, folder), order)
        ran = self.zygote.step("worker", self.folder, bug=self.bug, order=str(order), awake=True)
        journal = next((path for path in folder.glob("w0.*") if path.suffix in (".live", ".journal")), None)
        events = list(read_journal(journal)) if journal else []
        shutil.rmtree(folder)
        return self._judge(key, ran, events)

    def _order(self, key: Key, folder: Path) -> Order:
        at_end = key.iteration is None
        segment = Segment(key.iteration or 0, None, key.iteration)
        run_of = self.history.loops.get(key.execution)
        plan = Plan(key.execution, run_of.iterations if run_of else 0, (segment,), frozenset(), not at_end, at_end, 0.0)
        facts, sources = self.found.facts, dict(recorded_sources(self.found))
        others = (other for other in self.history.checkpoints if other.iteration is None and other != key)
        return Order(
            run=self.found.name, store=str(self.found.folder.path.parent.parent), folder=str(folder), worker=0,
            segment=segment, plan=plan, argv=tuple(facts["argv"]), script=facts["script"], module=facts["module"],
            sources=sources, loops=_loops(sources), probe_lines={}, never_skip=(), doubtful={}, new_names=(),
            without=tuple(map(str, others)),
        )  # fmt: skip

    def _judge(self, key: Key, ran: Ran, events: list[Record]) -> Continued:
        notes = {event.kind: event for event in events if isinstance(event, Note)}
        if ran.code == REFUSED and "refused" in notes:
            return Continued(key, REFUSES, notes["refused"].values["error"])
        if "doubted" in notes:
            return Continued(key, REFUSES, notes["doubted"].values["differences"][0])
        raised = notes["raised"].values["traceback"] if "raised" in notes else ""
        if ran.code or (raised and self.found.ended.get("status") == "finished"):
            return Continued(key, RAISES, raised or ran.stderr[-2000:])
        if key.iteration is None and "skipped" not in notes:
            return Continued(key, RAISES, "the loop was not skipped")
        want, got = self._masked(self._expected(key)), self._masked(_logged(events))
        if want != got:
            return Continued(key, WRONG, _difference(want, got))
        differing = next((n for n in _checked(events) if n.values["differences"]), None)
        if differing is not None:
            return Continued(key, WRONG, f"state: {differing.values['differences'][:2]}")
        return Continued(key, EXACT)

    def _masked(self, text: bytes) -> bytes:
        for pattern in self.volatile:
            text = re.sub(pattern.encode(), b"<volatile>", text)
        return text

    def _expected(self, key: Key) -> bytes:
        """What the full run logged from the checkpoint on; without the loop, for one at its end."""
        logs = self.history.logs
        if key.iteration is None:
            return _bytes(record for record in logs if not key.execution.encloses(record.position))
        return _bytes(logs[self._first(key.execution, key.iteration) :])

    def _first(self, execution: Execution, iteration: int) -> int:
        depth = len(execution.parent)
        for index, record in enumerate(self.history.logs):
            if execution.encloses(record.position) and record.position[depth].iteration >= iteration:
                return index
        return self.history.ends.get(execution, len(self.history.logs))


@dataclass
class Replayed:
    """What a replay with probes printed and said, and what the oracle printed."""

    exit: int
    said: str
    same: bool
    again: list[str] = field(default_factory=list)
    why: str = ""
    checked: int = 0
    restored: int = 0

    @property
    def verdict(self) -> str:
        """exact | told | WRONG."""
        if self.exit == 0:
            return EXACT if self.same else WRONG
        return "told"


def record(zygote: Zygote, folder: Path, text: str, bug: str | None = None) -> Recorded:
    """Record a program in a folder, with a checkpoint wherever one can be taken."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "train.py").write_text(text)
    ran = zygote.step("record", folder, bug=bug)
    found = run(store=folder / ".flor")
    return Recorded(zygote, folder, ran, found, History.of(found), bug)


def replay(recorded: Recorded, text: str, workers: int = 1) -> Replayed:
    """Put the probes in, replay, and compare with a full run of the program that has them."""
    zygote, folder = recorded.zygote, recorded.folder
    (folder / "train.py").write_text(text)
    logs, result = (folder.parent / f"{folder.name}.{name}.json" for name in ("logs", "result"))
    fresh = folder.with_name(f"{folder.name}.oracle")  # without the files that the recorded run has written
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir()
    (fresh / "train.py").write_text(text)
    oracle = zygote.step("plain", fresh, logs=str(logs))
    assert oracle.code == 0, oracle.stderr
    ran = zygote.step("replay", folder, workers=workers, result=str(result), bug=recorded.bug)
    if not result.exists():
        return Replayed(1, ran.stderr[-2000:], False, why="replay ended without a word")
    found: dict[str, Any] = json.loads(result.read_text())
    if found["exit"] == 1:
        return Replayed(1, found["said"], False)
    same_text, same_logs = found["stdout"] == oracle.stdout, found["logs"] == json.loads(logs.read_text())
    why = "" if same_text else _difference(oracle.stdout.encode(), found["stdout"].encode())
    why += "" if same_logs else "; flor.log differs"
    return Replayed(
        found["exit"], found["said"], same_text and same_logs, found["again"], why, found["checked"], found["restored"]
    )


def _loops(sources: dict[str, str]) -> dict[str, str]:
    names = [str(loop.id) for file, text in sources.items() for loop in find_loops(ast.parse(text), file)]
    return dict(zip(names, names, strict=True))


def _logged(events: list[Record]) -> bytes:
    """What a worker logged since its segment began."""
    collecting, found = False, []
    for event in events:
        collecting |= isinstance(event, Note) and event.kind == "segment"
        if collecting and isinstance(event, LogRecord):
            found.append(event)
    return _bytes(found)


def _checked(events: list[Record]) -> Iterator[Note]:
    return (event for event in events if isinstance(event, Note) and event.kind == "checked")


def _bytes(records: Any) -> bytes:
    return b"".join(record.data for record in records if record.channel is not Channel.STDERR)


def _difference(want: bytes, got: bytes) -> str:
    """The first line at which two outputs part."""
    a, b = (text.decode(errors="replace").splitlines() for text in (want, got))
    at = next((n for n, pair in enumerate(zip(a, b, strict=False)) if pair[0] != pair[1]), min(len(a), len(b)))
    line = [repr(lines[at][:200]) if at < len(lines) else "the end" for lines in (a, b)]
    return f"line {at + 1}: wanted {line[0]}, got {line[1]}"
