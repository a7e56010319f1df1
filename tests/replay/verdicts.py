"""The verdict layer's table of cases: what was recorded, what a replay said, and what must come of it.

The recorded program has these lines; the present one has a probe in line 5, so that later lines moved down by one.

     2  print("begin")
     3  for epoch in range(3):
     4      print(time.time())             # volatile
     6      for batch in range(2): print(batch)
     8      print(epoch)
    10  print("end")
    12  print("removed")                   # not in the present program
    14  bar = tqdm(...)                    # a library prints here
    16  print("\\r", loss)                 # the program itself does
"""

from __future__ import annotations

import importlib
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from flor.model.checkpoints import Key
from flor.model.edits import LineMap
from flor.model.plan import Plan, Segment
from flor.model.positions import Execution, Level, Position
from flor.model.records import Channel, Ended, LogRecord, Note, Record, Statement, Tag

FILE = "train.py"
EPOCHS, BATCHES = f"{FILE}::<module>#0", f"{FILE}::<module>#1"
MAIN = Execution((), EPOCHS, 0)
BEGIN, CLOCK, BATCH, EPOCH, END, REMOVED, BAR, OWN_BAR = 2, 4, 6, 8, 10, 12, 14, 16
PROBE = 5  # a present line
LAYER = ("merging", "weaving", "result", "keeping")  # the modules that make the verdict, each after what it imports


def present(line: int) -> int:
    """Where a recorded line is now."""
    return line if line < PROBE else line + 1


LINES = LineMap(
    forward={FILE: {line: present(line) for line in range(1, 20) if line != REMOVED}},
    backward={FILE: {present(line): line for line in range(1, 20) if line != REMOVED}},
    added={FILE: frozenset({PROBE})},
)


# -- what a table is written with ----------------------------------------------------------------


def at(*iterations: int) -> Position:
    """A position: the epoch, and the batch in it."""
    return tuple(Level(loop, 0, number) for loop, number in zip((EPOCHS, BATCHES), iterations, strict=False))


def log(line: int, text: str, *iterations: int, channel: Channel = Channel.STDOUT, **more: Any) -> LogRecord:
    """A log record; `line` is that of the program which logs it."""
    statement = Statement(more.get("file", FILE), line, "<module>")
    tag, name = more.get("tag", Tag.STR), more.get("name", "")
    return LogRecord(channel, name, tag, more.get("data", text.encode()), at(*iterations), statement, 0.0)


def again(record: LogRecord, text: str | None = None, *iterations: int) -> LogRecord:
    """The same record in the replayed program, perhaps with another value or elsewhere."""
    statement = Statement(record.statement.file, present(record.statement.line), record.statement.function)
    position = at(*iterations) if iterations else record.position
    data = record.data if text is None else text.encode()
    return record._replace(statement=statement, position=position, data=data)


def probe(text: str, *iterations: int) -> LogRecord:
    """What the probe logs."""
    return log(PROBE, text, *iterations)


def segment(start: int = 0) -> Note:
    return Note("segment", {"start": start})


def note(kind: str, iteration: int | None, differences: Sequence[str] = (), *parent: int, **more: Any) -> Note:
    """A note on a checkpoint: of the main loop, or of the inner loop if there is a parent."""
    loop = BATCHES if parent else EPOCHS
    key = Key(Execution(at(*parent), loop, 0), iteration)
    return Note(kind, {**key.as_json(), "differences": list(differences), **more})


def skipped(*parent: int) -> Note:
    return note("skipped", None, (), *parent)


def ended(status: str = "finished", **more: Any) -> Ended:
    return Ended({"status": status, **more})


def epoch(number: int) -> list[LogRecord]:
    batches = [log(BATCH, f"b{number}{batch}", number, batch) for batch in range(2)]
    return [*batches, log(EPOCH, f"c{number}", number)]


FIRST, LAST = log(BEGIN, "begin"), log(END, "end")
RUN = [FIRST, *epoch(0), *epoch(1), *epoch(2), LAST]


def replayed(records: Iterable[LogRecord] = RUN) -> list[LogRecord]:
    return [again(record) for record in records]


def whole(*events: Record) -> list[Record]:
    """The stream of a worker that ran the script from its beginning to its end."""
    return [segment(), *events, ended()]


# -- how a case is judged ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Layer:
    """The verdict layer, perhaps with a fault in it."""

    merging: ModuleType
    weaving: ModuleType
    result: ModuleType
    keeping: ModuleType


def load(fault: tuple[str, str, str] | None = None) -> Layer:
    """The modules of the layer, read anew; a fault is (module, text, text in its place)."""
    names = [f"flor.replay.{name}" for name in LAYER]
    before = {name: importlib.import_module(name) for name in names}
    made: dict[str, ModuleType] = {}
    try:
        for name in names:
            path = str(before[name].__file__)
            text = Path(path).read_text()
            if fault is not None and name.endswith(f".{fault[0]}"):
                assert text.count(fault[1]) == 1, f"{fault[0]} has {fault[1]!r} {text.count(fault[1])} times"
                text = text.replace(fault[1], fault[2])
            module = made[name] = ModuleType(name)
            sys.modules[name] = module
            exec(compile(text, path, "exec"), module.__dict__)
    finally:
        sys.modules.update(before)
    return Layer(*made.values())


@dataclass(frozen=True)
class Case:
    """One row: the record, the workers' streams by segment, and what must be said and shown."""

    events: Sequence[Sequence[Record]]
    says: str = ""  # a part of the first divergence; empty for an exact replay
    shows: str | None = None  # the merged texts, those of probes in brackets
    prints: str | None = None  # what goes to stdout under --all
    recorded: Sequence[LogRecord] = field(default_factory=lambda: RUN)
    segments: Sequence[Segment] = (Segment(0, None, None),)
    killed: bool = False
    stopped: bool = False
    failed: bool | None = False
    identical: int | None = None
    volatile: int | None = None
    checkpoints: int | None = None
    warnings: Sequence[str] = ()
    iterations: int = 3
    ends: int | None = None  # how many records came before the end of the main loop

    def __call__(self, layer: Layer) -> None:
        """Judge it, and require what is expected."""
        result = self.result(layer)
        first = str(result.findings.divergences[0]) if result.findings.divergences else ""
        assert bool(first) == bool(self.says) and self.says in first, f"said {first!r}"
        verdict = "stopped" if self.stopped else "exact" if not self.says and not result.warnings else "diverged"
        assert result.summary()["verdict"] == verdict
        assert result.exact == (not self.says and not result.warnings)
        assert list(result.warnings) == list(self.warnings)
        if self.shows is not None:
            assert texts(result) == self.shows
        if self.prints is not None:
            assert b" ".join(result.stdout(everything=True)).decode() == self.prints
        for name in ("identical", "volatile", "checkpoints"):
            if (wanted := getattr(self, name)) is not None:
                assert getattr(result.findings, name) == wanted, name

    def result(self, layer: Layer) -> Any:
        """What the layer makes of it."""
        volatile, prints = {(FILE, CLOCK)}, {(FILE, OWN_BAR), (FILE, EPOCH)}
        merger = layer.merging.Merger(LINES, lambda *place: place in volatile, lambda *place: place in prints)
        plan = Plan(MAIN, self.iterations, tuple(self.segments), frozenset(), False, False, 0.0)
        end = self.ends if self.ends is not None else _end_of_loop(self.recorded)
        parts = layer.weaving.Parts(self.recorded, MAIN, end)
        extent = layer.weaving.Extent(self.killed, self.stopped, None if self.killed else self.failed)
        result = layer.result.Result([], merger.findings, plan, 0.0, stopped=self.stopped)
        result.merged += layer.weaving.weave(plan, parts, merger, dict(enumerate(self.events)), extent)
        for events in self.events:
            result.count(events)
        return result


def _end_of_loop(recorded: Sequence[LogRecord]) -> int:
    inside = [index for index, record in enumerate(recorded) if MAIN.encloses(record.position)]
    return inside[-1] + 1 if inside else len(recorded)


def texts(result: Any) -> str:
    """The merged records as one text; what the probes logged is in brackets."""
    shown = [(merged.origin, merged.record.data.decode()) for merged in result.merged]
    return " ".join(f"[{text}]" if origin == "hindsight" else text for origin, text in shown)


def one(*events: Record, **more: Any) -> Case:
    """A case of one worker that ran the whole script."""
    return Case([whole(*events)], **more)


ALL = "begin b00 b01 c0 b10 b11 c1 b20 b21 c2 end"
TWO = (Segment(0, 1, None), Segment(1, None, 1))
WINDOW = (Segment(1, 2, 1),)
KILLED = RUN[:6]  # begin, epoch 0, and both batches of epoch 1
VALUES = {"tag": Tag.FLOAT, "channel": Channel.FLOR, "name": "loss"}

CASES: dict[str, Callable[[Layer], None]] = {
    # -- the values ---------------------------------------------------------------------------
    "all values are equal": one(*replayed(), shows=ALL, identical=11),
    "a value differs": one(
        *replayed(RUN[:3]),
        again(RUN[3], "c9"),
        *replayed(RUN[4:]),
        says="recorded 'c0', replayed 'c9'",
        shows=ALL,
        identical=10,
    ),
    "the last value differs": one(*replayed(RUN[:-1]), again(LAST, "other"), says="recorded 'end', replayed 'other'"),
    "a value has another type": one(
        again(log(END, "1", tag=Tag.INT)), recorded=[log(END, "1")], says="recorded '1', replayed '1'"
    ),
    "a value of the same text has another name": one(
        again(log(END, "1", channel=Channel.FLOR, name="b")),
        recorded=[log(END, "1", channel=Channel.FLOR, name="a")],
        says="recorded '1', replayed '1'",
    ),
    "a value went another way": one(
        again(log(END, "1", channel=Channel.LOGGING)), recorded=[log(END, "1")], says="recorded '1', replayed '1'"
    ),
    "a float differs in its last bit": one(
        again(log(END, "", data=b"\x01" + bytes(6) + b"@", **VALUES)),
        recorded=[log(END, "", data=bytes(7) + b"@", **VALUES)],
        says="recorded 2.0, replayed 2.00000000",
    ),
    "two NaN of the same bits are equal": one(
        again(log(END, "", data=b"\0\0\0\0\0\0\xf8\x7f", **VALUES)),
        recorded=[log(END, "", data=b"\0\0\0\0\0\0\xf8\x7f", **VALUES)],
        identical=1,
    ),
    "a value is of a statement in another file": one(
        again(log(END, "1", file="other.py")), recorded=[log(END, "1")], says="recorded '1', replayed '1'"
    ),
    "a file that the edit does not know has the lines that it had": one(
        log(END, "1", file="lib.py"), recorded=[log(END, "1", file="lib.py")], identical=1
    ),
    "a library logs, outside of all files": one(
        log(0, "lib", file=""), recorded=[log(0, "lib", file="")], shows="lib", identical=1
    ),
    # -- loss, repetition, order ----------------------------------------------------------------
    "a value is lost": one(*replayed(RUN[:3]), *replayed(RUN[4:]), says="recorded 'c0', replayed 'b10'", shows=ALL),
    "the last value is lost": one(*replayed(RUN[:-1]), says="recorded 'end', replayed nothing", shows=ALL),
    "all values are lost": one(says="recorded 'begin', replayed nothing", shows=ALL),
    "a value is logged twice": one(
        *replayed(RUN[:4]), again(RUN[3]), *replayed(RUN[4:]), says="recorded 'b10', replayed 'c0'", shows=ALL
    ),
    "the last value is logged twice": one(*replayed(), again(LAST), says="recorded nothing, replayed 'end'", shows=ALL),
    "two statements come in the other order": one(
        again(RUN[0]),
        again(RUN[1]),
        again(RUN[3]),
        again(RUN[2]),
        *replayed(RUN[4:]),
        says="recorded 'b01', replayed 'c0'",
        shows=ALL,
    ),
    "two values of one statement come in the other order": one(
        FIRST, again(RUN[2]), again(RUN[1]), *replayed(RUN[3:]), says="recorded 'b00', replayed 'b01'", shows=ALL
    ),
    "the same text comes in another iteration": one(
        again(log(EPOCH, "tick", 2)),
        recorded=[log(EPOCH, "tick", 1)],
        says="iteration 1, replayed 'tick' in iteration 2",
    ),
    "the same text comes in another batch": one(
        again(log(BATCH, "tick", 1, 1)), recorded=[log(BATCH, "tick", 1, 0)], says="'tick' in iteration 1/1"
    ),
    "a loop that is no longer followed on one side is no difference": one(
        again(log(EPOCH, "tick", 1)), recorded=[log(EPOCH, "tick", 1, 0)], identical=1
    ),
    "the replay logs what the record has nowhere": one(
        *replayed(), log(present(18), "new"), says="recorded nothing, replayed 'new'"
    ),
    "a statement that was removed logs nothing": one(
        *replayed([FIRST, LAST]), recorded=[FIRST, log(REMOVED, "gone"), LAST], shows="begin gone end", identical=2
    ),
    "a statement that was removed is not another one": one(
        *replayed([LAST]), recorded=[log(REMOVED, "end"), LAST], shows="end end", identical=1
    ),
    "a statement that was removed may have been the last": one(
        *replayed([FIRST]), recorded=[FIRST, log(REMOVED, "gone")], shows="begin gone"
    ),
    # -- the probes ------------------------------------------------------------------------------
    "probes are shown where they logged": one(
        again(FIRST),
        again(RUN[1]),
        probe("p0", 0),
        again(RUN[2]),
        probe("p1", 0),
        *replayed(RUN[3:]),
        probe("p2"),
        shows="begin b00 [p0] b01 [p1] c0 b10 b11 c1 b20 b21 c2 end [p2]",
        identical=11,
    ),
    "what a probe logs is compared with nothing": one(
        *replayed(), probe("c0"), probe("c0"), shows=f"{ALL} [c0] [c0]", identical=11
    ),
    "a probe writes to stderr": one(*replayed(), log(PROBE, "p", channel=Channel.STDERR), shows=f"{ALL} [p]"),
    "a probe logs before a block that is skipped": one(
        again(FIRST),
        probe("p", 0),
        skipped(0),
        again(RUN[3]),
        *replayed(RUN[4:]),
        shows="begin [p] b00 b01 c0 b10 b11 c1 b20 b21 c2 end",
        identical=9,
    ),
    # -- skipped blocks -------------------------------------------------------------------------
    "a skipped block is as it was recorded": one(again(FIRST), skipped(0), *replayed(RUN[3:]), shows=ALL, identical=9),
    "a value before a skipped block is lost": one(
        skipped(), again(LAST), says="recorded 'begin', replayed nothing", shows=ALL
    ),
    "a value of an iteration before its skipped block is lost": one(
        *replayed([FIRST]),
        skipped(0),
        again(RUN[3]),
        *replayed(RUN[4:]),
        recorded=[FIRST, log(EPOCH, "c-", 0), *RUN[1:]],
        says="recorded 'c-', replayed 'c0'",
    ),
    "a value after a skipped block is lost": one(
        again(FIRST), skipped(0), *replayed(RUN[4:]), says="recorded 'c0', replayed 'b10'", shows=ALL
    ),
    "another thread logs while a block is skipped": one(
        again(FIRST),
        skipped(0),
        again(RUN[3]),
        *replayed(RUN[4:]),
        recorded=[FIRST, RUN[1], log(END, "thread"), *RUN[2:]],
        shows="begin b00 thread b01 c0 b10 b11 c1 b20 b21 c2 end",
    ),
    "the block of another epoch is not skipped along": one(
        again(FIRST), skipped(1), *replayed(RUN[1:]), shows=ALL, identical=11
    ),
    "a block of nothing logged is skipped": one(
        again(FIRST), skipped(0), again(LAST), recorded=[FIRST, LAST], identical=2
    ),
    "a skip before the segment begins is none of its": Case(
        [[skipped(0), segment(1), *replayed(RUN[4:]), ended()]], segments=(Segment(1, None, 1),), shows=ALL, identical=7
    ),
    # -- what depends on the clock ---------------------------------------------------------------
    "a time is another one": one(
        again(log(CLOCK, "12:00", 0), "13:00"), recorded=[log(CLOCK, "12:00", 0)], volatile=1, shows="12:00"
    ),
    "a time is logged more often": one(
        *[again(log(CLOCK, "12:00", 0))] * 3,
        *replayed([LAST]),
        recorded=[log(CLOCK, "12:00", 0), LAST],
        shows="12:00 end",
    ),
    "a time is logged less often": one(
        *replayed([FIRST, LAST]), recorded=[FIRST, *[log(CLOCK, "12:00", 0)] * 2, LAST], shows="begin 12:00 12:00 end"
    ),
    "behind a time a value is lost": one(
        again(log(CLOCK, "13:00", 0)), recorded=[log(CLOCK, "12:00", 0), LAST], says="recorded 'end', replayed nothing"
    ),
    "behind a time a value differs": one(
        again(LAST, "other"), recorded=[log(CLOCK, "12:00", 0), LAST], says="recorded 'end', replayed 'other'"
    ),
    "stderr is not compared": one(
        *replayed(), log(present(END), "warning", channel=Channel.STDERR), shows=ALL, identical=11
    ),
    "stderr of the record is shown": one(
        *replayed([FIRST, LAST]),
        recorded=[FIRST, log(BEGIN, "warning", channel=Channel.STDERR), LAST],
        shows="begin warning end",
    ),
    "a library's bar is drawn otherwise": one(
        again(log(BAR, "\r50% 1/2", 0), "\r100% 2/2"), recorded=[log(BAR, "\r50% 1/2", 0)], volatile=1
    ),
    "a library's bar is drawn less often": one(
        *replayed([LAST]), recorded=[log(BAR, "\r50% 1/2", 0), LAST], shows="\r50% 1/2 end"
    ),
    "a library's bar is drawn more often": one(
        again(log(BAR, "40/40 0:00:01 301.43it/s", 0)), again(LAST), recorded=[LAST], shows="end"
    ),
    "what the program prints itself behind a carriage return is compared": one(
        again(log(OWN_BAR, "\rloss 1", 0), "\rloss 2"),
        recorded=[log(OWN_BAR, "\rloss 1", 0)],
        says="replayed '\\rloss 2'",
    ),
    "what the program prints itself behind a carriage return is missed": one(
        recorded=[log(OWN_BAR, "\rloss 1", 0)], says="recorded '\\rloss 1', replayed nothing"
    ),
    "what the program prints itself behind a carriage return is not expected": one(
        again(log(OWN_BAR, "\rloss 1", 0)), recorded=[], says="recorded nothing, replayed '\\rloss 1'"
    ),
    "a file's write of a carriage return is no bar": one(
        recorded=[log(BAR, "\r1/2", 0, channel=Channel.FLOR)], says="replayed nothing"
    ),
    "a rate of a library is another one": one(
        again(log(END, "1", channel=Channel.FLOR, name="train_runtime", tag=Tag.INT), "2"),
        recorded=[log(END, "1", channel=Channel.FLOR, name="train_runtime", tag=Tag.INT)],
        volatile=1,
    ),
    "a rate in a text is another one, and all else is equal": one(
        again(log(END, "{'train_runtime': 1.5, 'loss': 2}"), "{'train_runtime': 1.7, 'loss': 2}"),
        recorded=[log(END, "{'train_runtime': 1.5, 'loss': 2}")],
        volatile=1,
    ),
    "beside a rate in a text a value differs": one(
        again(log(END, "{'train_runtime': 1.5, 'loss': 2}"), "{'train_runtime': 1.7, 'loss': 3}"),
        recorded=[log(END, "{'train_runtime': 1.5, 'loss': 2}")],
        says="'loss': 2}\", replayed",
    ),
    "a rate that became a text is a difference": one(
        again(log(END, "x", channel=Channel.FLOR, name="train_runtime")),
        recorded=[log(END, "1", channel=Channel.FLOR, name="train_runtime", tag=Tag.INT)],
        says="recorded '1'",
    ),
    # -- segments -----------------------------------------------------------------------------------
    "two segments are one run": Case(
        [
            [segment(), *replayed(RUN[:4]), probe("p0", 0), ended("stopped")],
            [segment(1), *replayed(RUN[4:]), probe("p1", 1), ended()],
        ],
        segments=TWO,
        shows="begin b00 b01 c0 [p0] b10 b11 c1 b20 b21 c2 end [p1]",
        identical=11,
    ),
    "what a worker logs on its way to the segment is not shown": Case(
        [
            [segment(), *replayed(RUN[:4]), ended("stopped")],
            [again(FIRST, "other"), probe("early", 0), *replayed(RUN[1:4]), segment(1), *replayed(RUN[4:]), ended()],
        ],
        segments=TWO,
        shows=ALL,
        identical=11,
    ),
    "a value is lost at a boundary": Case(
        [[segment(), *replayed(RUN[:3]), ended("stopped")], [segment(1), *replayed(RUN[4:]), ended()]],
        segments=TWO,
        says="recorded 'c0', replayed nothing",
        shows=ALL,
    ),
    "a value is logged by both segments": Case(
        [[segment(), *replayed(RUN[:4]), ended("stopped")], [segment(1), *replayed(RUN[3:]), ended()]],
        segments=TWO,
        says="recorded 'b10', replayed 'c0'",
        shows=ALL,
    ),
    "the second segment differs": Case(
        [
            [segment(), *replayed(RUN[:4]), ended("stopped")],
            [segment(1), again(RUN[4], "x"), *replayed(RUN[5:]), ended()],
        ],
        segments=TWO,
        says="recorded 'b10', replayed 'x'",
        shows=ALL,
    ),
    "a segment never began, and nothing was logged in it": Case(
        [[segment(), *replayed(RUN[:4]), ended("stopped")], [ended()]],
        recorded=RUN[:4],
        segments=TWO,
        says="did not come to iteration 1 of the main loop",
    ),
    "a stream is empty": Case([[], []], recorded=[], segments=TWO, says="did not come to iteration 0"),
    "a stream is not there": Case([whole()], recorded=[], segments=TWO[1:] * 2, says="did not come to iteration 1"),
    "a worker ended without a word": Case(
        [[segment(), *replayed()]], says="did not come to the script's end: its worker ended without a word"
    ),
    "a worker stopped in the middle of an open segment": Case(
        [[segment(), *replayed(), ended("stopped")]], says="did not come to the script's end: stopped"
    ),
    "a script ended before the end of its segment": Case(
        [[segment(), *replayed(RUN[:4]), ended("exited")], [segment(1), *replayed(RUN[4:]), ended()]],
        segments=TWO,
        says="did not come to iteration 1 of the main loop: exited",
    ),
    "the recorded script failed and the replayed one did not": one(*replayed(), failed=True, says="script failed"),
    "both scripts failed": Case([[segment(), *replayed(), ended("raised")]], failed=True, identical=11),
    "both scripts ended with a code": Case([[segment(), *replayed(), ended("exited", code=2)]], failed=True),
    "the replayed script ended with a code": Case(
        [[segment(), *replayed(), ended("exited", code=2)]], says="did not fail, the replayed one failed"
    ),
    "how the recorded script ended is not known": Case([[segment(), *replayed(), ended("raised")]], failed=None),
    "a script left by sys.exit(0)": Case([[segment(), *replayed(), ended("exited", code=0)]], identical=11),
    # -- windows ----------------------------------------------------------------------------------------
    "a window shows the record around it": Case(
        [[segment(1), *replayed(RUN[4:7]), probe("p", 1), ended("stopped")]],
        segments=WINDOW,
        shows="begin b00 b01 c0 b10 b11 c1 [p] b20 b21 c2 end",
        identical=3,
    ),
    "a value in a window differs": Case(
        [[segment(1), *replayed(RUN[4:6]), again(RUN[6], "x"), ended("stopped")]],
        segments=WINDOW,
        says="recorded 'c1', replayed 'x'",
        shows=ALL,
    ),
    "a window goes on beyond its end": Case(
        [[segment(1), *replayed(RUN[4:8]), ended("stopped")]],
        segments=WINDOW,
        says="recorded nothing, replayed 'b20'",
        shows=ALL,
    ),
    "the loop ended in the window": Case(
        [[segment(1), *replayed(RUN[4:7]), Note("ended early", {"stop": 2, "at": 2}), ended()]],
        segments=WINDOW,
        says="recorded 3 iterations, replayed 2 iterations",
    ),
    "the loop ended with the window, as recorded": Case(
        [[segment(1), *replayed(RUN[4:10]), Note("ended early", {"stop": 3, "at": 3}), ended("stopped")]],
        segments=(Segment(1, 3, 1),),
        shows=ALL,
        identical=6,
    ),
    "the loop ended before the end of the window": Case(
        [[segment(1), *replayed(RUN[4:7]), Note("ended early", {"stop": 3, "at": 2}), ended("stopped")]],
        recorded=RUN[:7],
        segments=(Segment(1, 3, 1),),
        says="recorded 3 iterations, replayed 2 iterations",
    ),
    # -- a record that was cut off -----------------------------------------------------------------
    "a killed run is replayed beyond its record": Case(
        [[segment(), *replayed(RUN[:7]), probe("p", 1), ended("stopped")]],
        recorded=KILLED,
        killed=True,
        iterations=2,
        segments=(Segment(0, 2, None),),
        shows="begin b00 b01 c0 b10 b11 [p]",
        identical=6,
    ),
    "an interrupted run is replayed beyond its record, which ends with a traceback": Case(
        [[segment(), *replayed(RUN[:7]), probe("p", 1), ended("stopped")]],
        recorded=[*KILLED, log(0, "KeyboardInterrupt", channel=Channel.STDERR, file="")],
        killed=True,
        iterations=2,
        segments=(Segment(0, 2, None),),
        shows="begin b00 b01 c0 b10 b11 [p] KeyboardInterrupt",
        identical=6,
    ),
    "a killed run differs": Case(
        [[segment(), *replayed(RUN[:5]), again(RUN[5], "x"), ended("stopped")]],
        recorded=KILLED,
        killed=True,
        iterations=2,
        segments=(Segment(0, 2, None),),
        says="recorded 'b11', replayed 'x'",
    ),
    "a value of a killed run is lost": Case(
        [[segment(), *replayed(RUN[:5]), ended("stopped")]],
        recorded=KILLED,
        killed=True,
        iterations=2,
        segments=(Segment(0, 2, None),),
        says="recorded 'b11', replayed nothing",
    ),
    "a value in the middle of a killed run is lost": Case(
        [[segment(), *replayed(RUN[:3]), ended("stopped")], [segment(1), *replayed(RUN[4:7]), ended("stopped")]],
        recorded=KILLED,
        killed=True,
        iterations=2,
        segments=(Segment(0, 1, None), Segment(1, 2, 1)),
        says="recorded 'c0', replayed nothing",
    ),
    "a value too many in the middle of a killed run": Case(
        [[segment(), *replayed(RUN[:5]), ended("stopped")], [segment(1), *replayed(RUN[4:7]), ended("stopped")]],
        recorded=KILLED,
        killed=True,
        iterations=2,
        segments=(Segment(0, 1, None), Segment(1, 2, 1)),
        says="recorded nothing, replayed 'b10'",
    ),
    "a run was killed in the last iteration of its loop": Case(
        [[segment(), *replayed(), Note("ended early", {"stop": 3, "at": 3}), ended()]],
        recorded=RUN[:9],
        killed=True,
        segments=(Segment(0, 3, None),),
        shows="begin b00 b01 c0 b10 b11 c1 b20 b21",
        identical=9,
    ),
    "a killed run's script would have failed": Case(
        [[segment(), *replayed(RUN[:6]), ended("raised")]],
        recorded=KILLED,
        killed=True,
        iterations=2,
        segments=(Segment(0, 2, None),),
        identical=6,
    ),
    "the worker of a killed run ended without a word": Case(
        [[segment(), *replayed(RUN[:6])]],
        recorded=KILLED,
        killed=True,
        iterations=2,
        segments=(Segment(0, 2, None),),
        says="ended without a word",
    ),
    "a killed run's loop was shorter when replayed": Case(
        [[segment(), *replayed(RUN[:4]), Note("ended early", {"stop": 2, "at": 1}), ended()]],
        recorded=RUN[:4],
        killed=True,
        iterations=2,
        segments=(Segment(0, 2, None),),
        says="recorded 2 iterations, replayed 1",
    ),
    "a stopped replay misses nothing": Case([[segment(), *replayed(RUN[:3])]], stopped=True, shows=ALL, identical=3),
    "a stopped replay that differs says so": Case(
        [[segment(), again(FIRST, "x")]], stopped=True, says="recorded 'begin', replayed 'x'"
    ),
    "a stopped replay shows what comes before its gap": Case(
        [
            [segment(), *replayed(RUN[:2]), probe("p0", 0)],
            [segment(1), *replayed(RUN[4:]), probe("p1"), ended()],
        ],
        segments=TWO,
        stopped=True,
        prints="begin b00 p0",
        shows="begin b00 [p0] b01 c0 b10 b11 c1 b20 b21 c2 end [p1]",
    ),
    "a stopped replay whose first segments are done shows them": Case(
        [[segment(), *replayed(RUN[:4]), probe("p0", 0), ended("stopped")], [segment(1), probe("p1", 1)]],
        segments=TWO,
        stopped=True,
        prints="begin b00 b01 c0 p0 p1",
    ),
    "a stopped replay whose worker had not come to its segment shows what is before it": Case(
        [[segment(), *replayed(RUN[:4]), ended("stopped")], [probe("early", 1)]],
        segments=TWO,
        stopped=True,
        prints="begin b00 b01 c0",
    ),
    "a stopped replay whose worker ended before its segment shows nothing behind it": Case(
        [[ended("stopped")], [segment(1), probe("p1", 1)]],
        recorded=[],
        segments=TWO,
        stopped=True,
        prints="",
    ),
    "a replay whose script raised shows what came before that": Case(
        [[segment(), *replayed(RUN[:2]), probe("p0", 0), ended("raised")]],
        stopped=True,
        prints="begin b00 p0",
    ),
    "a whole replay prints all": one(*replayed(), probe("p"), prints=f"{ALL} p"),
    # -- what a worker notes ---------------------------------------------------------------------------
    "a checkpoint is equal": one(*replayed(), note("checked", 1), checkpoints=1),
    "a checkpoint differs": one(
        *replayed(), note("checked", 1, ["module:__main__:w: 1 -> 2"]), says="at iteration 1: module:__main__:w"
    ),
    "a checkpoint differs before the segment begins": Case(
        [[note("checked", 1, ["w"]), segment(1), *replayed(RUN[4:]), ended()]],
        segments=(Segment(1, None, 1),),
        says="at iteration 1: w",
    ),
    "the end of a loop differs": one(*replayed(), note("checked", None, ["w"], 0), says="at the end of the loop: w"),
    "a restored checkpoint is in doubt": one(*replayed(), note("doubted", 1, ["w"]), says="at iteration 1: w"),
    "a probe disturbs training": one(
        *replayed(),
        Note("disturbed", {"probe": "train.py:5", "differences": ["w"]}),
        says="the probe changes the training: w",
    ),
    "a lost file is read": one(
        *replayed(), Note("lost file", {"path": "/x"}), says="reads /x, whose content of that time is lost"
    ),
    "a lost file is read before the jump": Case(
        [[Note("lost file", {"path": "/x"}), note("restored", 1, jump=True), segment(1), *replayed(RUN[4:]), ended()]],
        segments=(Segment(1, None, 1),),
        identical=7,
    ),
    "a lost file is read between the jump and the segment": Case(
        [[note("restored", 1, jump=True), Note("lost file", {"path": "/x"}), segment(1), *replayed(RUN[4:]), ended()]],
        segments=(Segment(1, None, 1),),
        says="reads /x",
    ),
    "a lost file is read behind a skipped block, before the jump": Case(
        [
            [
                note("restored", None, jump=False),
                Note("lost file", {"path": "/x"}),
                segment(1),
                *replayed(RUN[4:]),
                ended(),
            ]
        ],
        segments=(Segment(1, None, 1),),
        identical=7,
    ),
    "log records could not be kept": Case(
        [[segment(), *replayed(), ended(lost=2)]], warnings=["2 log records could not be kept"]
    ),
    "notes that say nothing of the values are no difference": one(
        *replayed(), note("restored", 1, jump=True), Note("read", {"path": "/x"}), identical=11
    ),
}


# -- rows that are no stream -----------------------------------------------------------------------------


def row(check: Callable[[Layer], None]) -> Callable[[Layer], None]:
    """A case that is a function; its docstring is its name."""
    CASES[str(check.__doc__).rstrip(".").lower()] = check
    return check


EXACT = one(*replayed(RUN[:4]), probe("p", 0), *replayed(RUN[4:-1]), probe("q"), again(LAST))
PLAN = Plan(MAIN, 3, (Segment(0, None, None),), frozenset(), False, False, 0.0)


@row
def blame(layer: Layer) -> None:
    """A probe that disturbs is blamed for it."""
    result = one(*replayed(), Note("disturbed", {"probe": "train.py:5", "differences": ["w"]})).result(layer)
    assert [divergence.by_probe for divergence in result.findings.divergences] == [True]
    assert result.findings.divergences[0].statement == "train.py:5"


@row
def place_of_difference(layer: Layer) -> None:
    """A difference is told with its place."""
    result = one(*replayed(RUN[:3]), again(RUN[3], "x"), *replayed(RUN[4:])).result(layer)
    (divergence,) = result.findings.divergences
    assert (divergence.position, divergence.statement) == (at(0), f"{FILE}:{present(EPOCH)}:<module>")


@row
def place_of_loss(layer: Layer) -> None:
    """A loss is told with its place."""
    (divergence,) = one(*replayed(RUN[:-1])).result(layer).findings.divergences
    assert (divergence.position, divergence.statement) == ((), f"{FILE}:{END}:<module>")


@row
def figures(layer: Layer) -> None:
    """The figures of all workers are added."""
    counts = {"executed": 2, "skipped": 3, "restored": 1, "restoring": 0.5, "materializing": 0.25, "escapes": ["ls"]}
    events = [
        [segment(), *replayed(RUN[:4]), ended("stopped", **counts)],
        [segment(1), *replayed(RUN[4:]), ended(**counts)],
    ]
    result = Case(events, segments=TWO).result(layer)
    assert (result.executed, result.skipped, result.restored, result.escapes) == (4, 6, 2, ["ls", "ls"])
    assert (result.restoring, result.materializing) == (1.0, 0.5)


@row
def stdout(layer: Layer) -> None:
    """Stdout has the probes' pieces, or all of them, and nothing of other channels."""
    other = log(PROBE, "x", channel=Channel.FLOR)
    result = one(*replayed(RUN[:-1]), other, probe("p"), again(LAST)).result(layer)
    assert b" ".join(result.stdout(False)) == b"p"
    assert b" ".join(result.stdout(True)).decode() == f"{ALL[:-4]} p end"
    assert len(result.hindsight) == 2


@row
def warned(layer: Layer) -> None:
    """A warning is not exact, though all values are equal."""
    result = EXACT.result(layer)
    result.warnings.append("forced")
    assert not result.exact and result.summary()["verdict"] == "diverged"


@row
def differing_checkpoints(layer: Layer) -> None:
    """A summary counts identical checkpoints only if nothing differs."""
    good, bad = one(*replayed(), note("checked", 1)), one(*replayed(), note("checked", 1, ["w"]))
    assert [case.result(layer).summary()["checkpoints_identical"] for case in (good, bad)] == [1, None]


def _kept(layer: Layer, case: Case, asked: str) -> Any:
    """What answers a question, if the result of this case was kept."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "replay"
        folder.mkdir()
        layer.keeping.keep(folder, case.result(layer), layer.keeping.question({FILE: "text"}, epochs=None), {})
        run = SimpleNamespace(replays=lambda: sorted(folder.glob("hindsight.*")))
        return layer.keeping.answer(run, asked, list(RUN), PLAN)


@row
def kept(layer: Layer) -> None:
    """A kept replay answers with what it had shown."""
    known = _kept(layer, EXACT, layer.keeping.question({FILE: "text"}, epochs=None))
    assert known is not None and known.exact and known.findings.identical == 11
    assert texts(known) == "begin b00 b01 c0 [p] b10 b11 c1 b20 b21 c2 [q] end"


@row
def other_question(layer: Layer) -> None:
    """A kept replay answers no other question."""
    ask = layer.keeping.question
    others = [ask({FILE: "other"}, epochs=None), ask({FILE: "text"}, epochs=(0, 1)), ask({FILE: "text", "b.py": ""})]
    assert [_kept(layer, EXACT, other) for other in others] == [None] * 3


@row
def kept_in_part(layer: Layer) -> None:
    """A replay that was stopped or diverged answers nothing."""
    asked = layer.keeping.question({FILE: "text"}, epochs=None)
    stopped = Case([[segment(), *replayed(RUN[:3])]], stopped=True)
    assert _kept(layer, stopped, asked) is None
    assert _kept(layer, one(*replayed(RUN[:-1])), asked) is None


@row
def ranks(layer: Layer) -> None:
    """What a rank's probes logged is kept with that rank."""
    result = EXACT.result(layer)
    result.merged += [layer.merging.Merged("hindsight", probe("other rank"), 1)]
    with tempfile.TemporaryDirectory() as name:
        from flor.store.reader import read_journal

        for rank in range(2):
            layer.keeping.keep(Path(name), result, "", {}, rank)
        found = [
            [r.data for r in read_journal(path) if isinstance(r, LogRecord)] for path in sorted(Path(name).iterdir())
        ]
    assert sorted(found) == [[b"other rank"], [b"p", b"q"]]


@row
def own_rates(layer: Layer) -> None:
    """A rate under a name of the project's own is compared."""
    recorded = log(END, "1", channel=Channel.FLOR, name="train_runtime", tag=Tag.INT)
    for own, divergences in ((frozenset(), 0), (frozenset({"train_runtime"}), 1)):
        merger = layer.merging.Merger(LINES, lambda *_: False, own=own)
        part = layer.merging.Part([recorded], Segment(0, None, None))
        list(merger.merge(part, whole(again(recorded, "2"))))
        assert len(merger.findings.divergences) == divergences
