"""Probes at work: whose log records are theirs, and whether they disturb training."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FrameType, TracebackType

from flor.runtime.sites import clock
from flor.runtime.statements import Statements
from flor.state import Snapshot, differences
from flor.state.allowance import Allowance

Capture = Callable[[FrameType], Snapshot]
ALWAYS = 16  # executions of a probe that are watched in any case
SHARE = 0.2  # of the time, for watching further ones


class ProbeStatements(Statements):
    """Names the probe wherever one is at work: a recorded function that a probe calls logs for the probe."""

    by_place = False

    def __init__(
        self,
        name_of: Callable[[str], str | None],
        intern: Callable[[str], int],
        probe_lines: Mapping[str, Sequence[int]],
    ) -> None:
        super().__init__(name_of, intern)
        self.probe_lines = {file: frozenset(lines) for file, lines in probe_lines.items()}
        self.lines_of: dict[str, frozenset[int]] = {}  # those of each file, by the name that its code has
        self.probed: dict[tuple[int, int, str, str], bool] = {}
        self.numbers: set[int] = set()  # of the statements that were found to be probes'

    def of(self, frame: FrameType | None) -> int:
        """The statement of the outermost probe on the stack, or else that of the nearest frame of the project."""
        probe, at = None, frame
        while at is not None:
            if self._is_probe(at):
                probe = at
            at = at.f_back
        number = super().of(probe or frame)
        if probe is not None:
            self.numbers.add(number)
        return number

    def is_probing(self, frame: FrameType | None) -> bool:
        """True if a probe is on the stack."""
        while frame is not None:
            if self._is_probe(frame):
                return True
            frame = frame.f_back
        return False

    def probe_in(self, trace: TracebackType | None) -> str | None:
        """The probe that an exception came out of, as file:line."""
        while trace is not None:
            file = self.file(trace.tb_frame.f_code)
            if file is not None and trace.tb_lineno in self.probe_lines.get(file, ()):
                return f"{file}:{trace.tb_lineno}"
            trace = trace.tb_next
        return None

    def _is_probe(self, frame: FrameType) -> bool:
        code = frame.f_code
        lines = self.lines_of.get(code.co_filename)
        if lines is None:
            lines = self.lines_of[code.co_filename] = self.probe_lines.get(self.file(code) or "", frozenset())
        if not lines:
            return False
        key = (frame.f_lasti, code.co_firstlineno, code.co_filename, code.co_qualname)
        known = self.probed.get(key)
        if known is None:
            known = self.probed[key] = frame.f_lineno in lines
        return known


class ProbeWatch:
    """Compares the state before a doubtful probe with the state after it."""

    def __init__(self) -> None:
        self.begun = clock()
        self.spent = 0.0
        self.counts: dict[str, int] = {}
        self.held: dict[str, Snapshot] = {}

    def before(self, place: str, capture: Capture, caller: FrameType) -> None:
        """Take the state, unless this probe was watched often and watching costs too much."""
        now = clock()
        count = self.counts[place] = self.counts.get(place, 0) + 1
        if count > ALWAYS and self.spent > SHARE * (now - self.begun):
            return
        self.held[place] = capture(caller)
        self.spent += clock() - now

    def after(
        self, place: str, capture: Capture, caller: FrameType, ignored: Callable[[str], bool], allowed: Allowance
    ) -> list[str]:
        """What differs now; a name that the probe itself has bound, and an object of its own, do not count."""
        before = self.held.pop(place, None)
        if before is None:
            return []
        now = clock()
        found = differences(before, capture(caller), limit=100, allowed=allowed)
        self.spent += clock() - now
        return [str(difference) for difference in found if not ignored(difference.path)][:5]
