"""A spawned process with two pipes; it shares nothing with training but the memory that it is given."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path

from flor.runtime.background.messages import LENGTH

ROOT = str(Path(__file__).parents[3])
COMMAND = "import sys; sys.path.append(sys.argv[2]); from flor.runtime.background.serving import main; main()"
SETTINGS = {
    "CUDA_VISIBLE_DEVICES": "",
    "OPENBLAS_NUM_THREADS": "1",  # its threads wait by spinning, for cores that training has
    "MALLOC_MMAP_THRESHOLD_": str(1 << 30),  # memory that is given back costs page faults at the next histogram
    "MALLOC_TRIM_THRESHOLD_": str(1 << 30),
}
PATIENCE = 10.0  # seconds until a process that does not end is ended


class Child:
    """The process that logs, seen from training."""

    def __init__(self, memory: int, hello: bytes) -> None:
        """Start it; spawned, not forked: a forked child that runs a torch kernel hangs."""
        theirs, self.notices = os.pipe()
        self.answers, back = os.pipe()
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", COMMAND, repr((memory, theirs, back)), ROOT],
                pass_fds=(memory, theirs, back),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # a Ctrl-C is for training
                env={**os.environ, **SETTINGS},
            )
        finally:
            os.close(theirs)
            os.close(back)
        os.set_blocking(self.answers, False)
        data = LENGTH.pack(len(hello)) + hello
        while data:
            data = data[os.write(self.notices, data) :]
        os.set_blocking(self.notices, False)

    def tell(self, notice: bytes) -> bool:
        """Write a notice; False if there is no room for it now, or nobody reads: then `hear` finds that out."""
        try:
            os.write(self.notices, notice)  # shorter than a pipe's atomic size: all or nothing
        except (BlockingIOError, BrokenPipeError):
            return False
        return True

    def hear(self) -> bytes | None:
        """What it says; None if that is nothing now, empty if it has ended."""
        try:
            return os.read(self.answers, 1 << 16)
        except BlockingIOError:
            return None

    def wait(self, *, also_for_room: bool) -> None:
        """Return once it has said something, or has room for notices."""
        poll = select.poll()
        poll.register(self.answers, select.POLLIN)
        if also_for_room:
            poll.register(self.notices, select.POLLOUT)
        poll.poll()

    def end(self) -> str:
        """Let it end, and say how it did."""
        os.close(self.notices)
        os.close(self.answers)
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        return f"by signal {-code}" if code < 0 else f"with exit code {code}"
