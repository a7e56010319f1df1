"""The training side of the process that logs: sends calls, hears answers, and begins it anew if it dies."""

from __future__ import annotations

import os
import pickle
import threading
from collections import deque
from dataclasses import dataclass
from typing import Any

from flor.runtime.background.child import Child
from flor.runtime.background.memory import Block, SharedMemory
from flor.runtime.background.messages import ANSWER, NOBODY, NOTICE, Message, Opening, read
from flor.runtime.background.saying import Failures, say

MEMORY = 256 << 20
TRIES = 2  # a call that the process dies of twice is left out, and said; one that never begins twice is given up


@dataclass(frozen=True)
class Sent:
    """A call whose answer is still to come."""

    number: int
    block: Block
    stop: int
    rest: int
    method: str
    where: str


class Server:
    """One process that logs for this one; calls are in shared memory until they are known to be on disk."""

    def __init__(self, memory: int = MEMORY) -> None:
        self.process = os.getpid()
        self.failures = Failures("SummaryWriter")
        self.memory = SharedMemory(memory)
        self.openings: dict[int, Opening] = {}
        self.pending: deque[Sent] = deque()
        self.lost = 0
        self._lock = threading.RLock()
        self._number = 0  # of the last call
        self._noticed = 0  # the last call that the process was told of
        self._answers = b""
        self._suspect = 0  # the call that the process died of last
        self._ready = False  # the process has begun to do calls
        self._deaths = 0  # in a row, before it was ready
        self._local: Any = None  # does the calls here, once no process can be had
        self._child: Child | None = None

    def start(self) -> None:
        """Begin the process, so that it is ready when the first calls come."""
        with self._lock:
            if self._child is None and self._local is None:
                self._launch()

    def send(self, logger: int, method: str, args: tuple[Any, ...], kwargs: dict[str, Any], where: str) -> None:
        """Put a call in shared memory; waits while there is no room for it."""
        message = Message(logger, method, args, kwargs)
        with self._lock:
            self._listen()
            block = self._room(message.length)
            try:
                message.write(self.memory.map, block.start)
            except BaseException:  # a Ctrl-C in the copy, a device that failed
                self.memory.release(block)
                raise
            self._number += 1
            rest, stop = block.start + message.size, block.start + message.length
            self.pending.append(Sent(self._number, block, stop, rest, method, where))
            self.start()
            self._notify()

    def wait(self) -> None:
        """Return once every call is done, its bytes being the system's."""
        with self._lock:
            while self.pending:
                self._hear()

    def stop(self) -> None:
        """Wait, and end the process."""
        if self.process != os.getpid():
            return
        with self._lock:
            self.wait()
            self.failures.conclude()
            if self._child is not None:
                self._child.end()
                self._child = None

    # -- memory -----------------------------------------------------------------------------------

    def _room(self, size: int) -> Block:
        """A block of shared memory; a call that is larger than all of it makes it larger."""
        while (block := self.memory.fit(size)) is None:
            if self.pending:
                self._hear()
            else:
                self.memory.resize(self.memory.size + size)
        return block

    # -- talking to the process -------------------------------------------------------------------

    def _notify(self) -> None:
        """Tell the process of calls that it does not know yet, as far as it has room for news."""
        if self._local is not None:
            self._do_here()
            return
        for sent in list(self._unnoticed()):
            assert self._child is not None
            if not self._child.tell(NOTICE.pack(sent.number, sent.block.start, sent.stop, sent.rest)):
                return
            self._noticed = sent.number

    def _unnoticed(self) -> list[Sent]:
        if not self.pending or self.pending[-1].number <= self._noticed:
            return []
        first = max(0, self._noticed + 1 - self.pending[0].number)
        return [self.pending[at] for at in range(first, len(self.pending))]

    def _hear(self) -> None:
        """Wait for at least one answer."""
        if self._local is not None:
            self._do_here()
            return
        assert self._child is not None
        behind = self.pending[-1].number > self._noticed
        self._child.wait(also_for_room=behind)
        self._listen()
        self._notify()

    def _listen(self) -> None:
        """Take the answers that are there, without waiting."""
        while self._child is not None:
            data = self._child.hear()
            if data is None:
                return
            if not data:
                self._died()
                return
            self._answers += data
            self._take_answers()

    def _take_answers(self) -> None:
        while len(self._answers) >= ANSWER.size:
            number, logger, size, length = ANSWER.unpack_from(self._answers)
            end = ANSWER.size + length
            if len(self._answers) < end:
                return
            error, self._answers = self._answers[ANSWER.size : end], self._answers[end:]
            if logger == NOBODY:
                self._spoke_of_itself(error)
            else:
                self._answered(number, logger, size, error)

    def _answered(self, number: int, logger: int, size: int, error: bytes) -> None:
        if logger in self.openings and size:
            self.openings[logger] = self.openings[logger]._replace(size=size)
        while self.pending and self.pending[0].number <= number:
            sent = self.pending.popleft()
            self.memory.release(sent.block)
            if error and sent.number == number:
                self.failures.add(sent.method, sent.where, *pickle.loads(error))

    # -- its life ---------------------------------------------------------------------------------

    def _launch(self) -> None:
        from flor.runtime.background.squares import probe  # numpy is there: TensorBoard is

        done = self.pending[0].number - 1 if self.pending else self._number
        self._noticed, self._answers, self._ready = done, b"", False
        try:
            self._child = Child(self.memory.fd, pickle.dumps((done, dict(self.openings), probe())))
        except OSError as error:
            self._give_up(str(error))

    def _spoke_of_itself(self, error: bytes) -> None:
        if error:
            assert self._child is not None
            self._child.end()
            self._child = None
            self._give_up(pickle.loads(error)[0])
        else:
            self._ready, self._deaths = True, 0

    def _died(self) -> None:
        """Nothing is lost: what was not answered is still in shared memory, and is done again in a new process."""
        assert self._child is not None
        how = self._child.end()
        self._child = None
        if not self._ready:
            self._deaths += 1
        elif self.pending and self.pending[0].number == self._suspect:
            self._leave_out(self.pending[0], how)
        if self._deaths >= TRIES:
            self._give_up(f"it ended {how} before it was ready")
        elif self.pending:
            self._suspect = self.pending[0].number
            count = len(self.pending)
            say(f"the process that logs ended {how}: {count} calls are done again in a new one [background-died]")
            self._launch()
            self._notify()

    def _leave_out(self, sent: Sent, how: str) -> None:
        self.lost += 1
        self.pending.popleft()
        self.memory.release(sent.block)
        say(
            f"1 call is lost: SummaryWriter.{sent.method}(), called at {sent.where}: the process that logs ended {how} "
            "twice while it was done [calls-lost]"
        )

    def _give_up(self, reason: str) -> None:
        """No process can be had: calls are done by training itself, slower, and none is lost."""
        from flor.runtime.background.replicas import Replicas

        say(f"no process can be had for logging ({reason}): calls are done on the training thread [background-died]")
        self._local = Replicas()
        for number, opening in self.openings.items():
            self._local.open(number, opening)
        self._do_here()

    def _do_here(self) -> None:
        while self.pending:
            sent = self.pending.popleft()
            call = read(self.memory.map, sent.block.start, sent.stop, sent.rest)
            try:
                self._local.do(*call)
            except Exception as error:
                self.failures.add(sent.method, sent.where, f"{type(error).__name__}: {error}")
            self.memory.release(sent.block)
