"""A lane that is a thread of the training process: for any object, whatever it holds."""

from __future__ import annotations

import os
import threading
import traceback
from collections import deque
from typing import NamedTuple

from flor.runtime.background.calls import Call
from flor.runtime.background.saying import Failures
from flor.runtime.background.snapshots import freeze, owned_copy, size_of
from flor.store import threads

MOST_CALLS = 10_000


class Waiting(NamedTuple):
    """A call in the queue, with the bytes of its snapshot."""

    call: Call
    size: int


class ThreadLane:
    """Does calls in order on one thread; whoever sends waits while the queue holds too much."""

    def __init__(self, name: str, memory: int) -> None:
        self.memory = memory
        self.failures = Failures(name)
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._queue: deque[Waiting] = deque()
        self._held = 0  # bytes in the queue
        self._busy = False  # a thread is there
        self._doing = 0  # that thread's number: what it sends itself is part of the call that it does

    def send(self, call: Call) -> bool:
        """Snapshot the arguments and queue the call; what is sent from within a call is part of it."""
        if self._process != os.getpid() or self._doing == threading.get_ident():
            return False  # a forked process has no such thread
        waiting = self._snapshot(call)
        with self._changed:
            self._changed.wait_for(lambda: self._has_room(waiting.size))
            self._queue.append(waiting)
            self._held += waiting.size
            if not self._busy:
                self._busy = True
                threads.start(self._work)
            self._changed.notify_all()
        return True

    def wait(self) -> None:
        """Return once the queue is empty."""
        if self._process == os.getpid() and self._doing != threading.get_ident():
            with self._changed:
                self._changed.wait_for(lambda: not self._queue)

    def close(self) -> None:
        """Wait, and let the thread end."""
        self.wait()
        self.failures.conclude()

    def _snapshot(self, call: Call) -> Waiting:
        sizes: list[int] = []

        def take(array: object) -> object:
            sizes.append(size_of(array))
            return owned_copy(array)

        args, kwargs = freeze((call.args, call.kwargs), take)
        return Waiting(Call(call.method, call.function, args, kwargs, call.where), sum(sizes))

    def _has_room(self, size: int) -> bool:
        if not self._queue:
            return True  # one call may be larger than the bound: it then waits alone
        return len(self._queue) < MOST_CALLS and self._held + size <= self.memory

    def _work(self) -> None:
        """Do what is queued; the thread ends when there is nothing, and the next call starts another."""
        self._doing = threading.get_ident()
        while True:
            with self._changed:
                if not self._queue and not self._changed.wait_for(lambda: self._queue, timeout=1.0):
                    self._busy, self._doing = False, 0
                    return
                waiting = self._queue[0]
            self._do(waiting.call)
            with self._changed:
                self._queue.popleft()  # only now, so that `wait` waits for the call under way as well
                self._held -= waiting.size
                self._changed.notify_all()

    def _do(self, call: Call) -> None:
        try:
            call.function(*call.args, **call.kwargs)
        except BaseException as error:
            trace = error.__traceback__.tb_next if error.__traceback__ else None  # without our own frame
            self.failures.add(
                call.method, call.where, f"{type(error).__name__}: {error}", "".join(traceback.format_tb(trace))
            )
