"""What a script logs before its first explicit call is not in the record, so a replay keeps only its probes there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flor.model.records import Statement
from flor.runtime.explicit.session import ExplicitSession
from flor.runtime.logbook import Sink


class WithoutPrelude:
    """Passes log records on to another sink, from the first explicit call on."""

    def __init__(self, sink: Sink, session: ExplicitSession, probe_lines: Mapping[str, Sequence[int]]) -> None:
        self.sink = sink
        self.session = session
        self.probe_lines = probe_lines
        self.probes: set[int] = set()  # the numbers of statements that are probes

    def intern(self, text: str) -> int:
        """The number of a text."""
        number = self.sink.intern(text)
        if text.count(":") >= 2:
            statement = Statement.parse(text) if text.split(":")[1].isdecimal() else None
            if statement is not None and statement.line in self.probe_lines.get(statement.file, ()):
                self.probes.add(number)
        return number

    def log(
        self, channel: int, name_id: int, statement_id: int, position: bytes, tag: int, data: bytes, time: float
    ) -> None:
        """Take one record, unless it belongs to the prelude."""
        if self.session.begun or statement_id in self.probes:
            self.sink.log(channel, name_id, statement_id, position, tag, data, time)
