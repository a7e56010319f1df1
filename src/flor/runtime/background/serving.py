"""The process that logs: does what it finds in shared memory, in order, and says so after each call."""

from __future__ import annotations

import ast
import mmap
import os
import pickle
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import suppress

from flor.runtime.background.messages import ANSWER, LENGTH, NOBODY, NOTICE, read
from flor.runtime.background.replicas import Replicas, prepare_process

NICENESS = 10  # training goes first where cores are scarce


class Serving:
    """One such process, from its first message to the end of training."""

    def __init__(self, memory: int, notices: int, answers: int) -> None:
        self.memory = memory
        self.notices = notices
        self.answers = answers
        self.map = mmap.mmap(memory, 0)
        self.replicas = Replicas()
        self.done = 0

    def begin(self) -> None:
        """Open what was open, and say that it is."""
        (length,) = LENGTH.unpack(self._read(LENGTH.size))
        self.done, openings, sums = pickle.loads(self._read(length))
        prepare_process(self.replicas, sums)
        for number, opening in openings.items():
            self.replicas.open(number, opening)
        self.answer(self.done, NOBODY, 0)

    def serve(self) -> None:
        """Do calls until training is over, or gone: what it has sent by then is done all the same."""
        for number, start, stop, rest in self._notices():
            if number > self.done:  # a notice may come twice if a signal came between
                self.do(number, start, stop, rest)

    def do(self, number: int, start: int, stop: int, rest: int) -> None:
        """One call, and its answer."""
        if stop > len(self.map):
            self.map = mmap.mmap(self.memory, 0)
        logger, method, args, kwargs = read(self.map, start, stop, rest)
        error = b""
        try:
            self.replicas.do(logger, method, args, kwargs)
        except Exception as raised:
            error = pickle.dumps((f"{type(raised).__name__}: {raised}", trace_of(raised)))
        self.done = number
        self.answer(number, logger, self.replicas.size(logger), error)

    def answer(self, number: int, logger: int, size: int, error: bytes = b"") -> None:
        """Say that a call is done; a training process that is gone does not listen."""
        data = ANSWER.pack(number, logger, size, len(error)) + error
        with suppress(BrokenPipeError):
            while data:
                data = data[os.write(self.answers, data) :]

    def _notices(self) -> Iterator[tuple[int, int, int, int]]:
        while True:
            data = self._read(NOTICE.size)
            if not data:
                return
            yield NOTICE.unpack(data)

    def _read(self, length: int) -> bytes:
        """That many bytes, or none at the end."""
        parts = b""
        while len(parts) < length:
            part = os.read(self.notices, length - len(parts))
            if not part:
                return b""
            parts += part
        return parts


def trace_of(error: BaseException) -> str:
    """Where in the logger it was raised, without our own frames."""
    trace = error.__traceback__
    while trace is not None and "torch" not in trace.tb_frame.f_code.co_filename:
        trace = trace.tb_next
    return "".join(traceback.format_tb(trace))


def main() -> None:
    """Serve on the files whose numbers are given."""
    serving = Serving(*ast.literal_eval(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError):
        os.nice(NICENESS)
    try:
        serving.begin()
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        serving.answer(0, NOBODY, 0, pickle.dumps((text, traceback.format_exc())))
        return
    serving.serve()
