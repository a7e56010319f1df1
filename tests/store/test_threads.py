"""Threads of our own are not noticed by the script."""

from __future__ import annotations

import queue
import signal
import subprocess
import sys
import textwrap
import threading
import warnings

import pytest

from flor.store import threads

SAID = "This process (pid=1) is multi-threaded, use of fork() may lead to deadlocks in the child."

SCRIPT = """
import os, threading, warnings
from flor.store import threads

let_go = threading.Event()
threads.start(let_go.wait)
if {another}:
    threading.Thread(target=let_go.wait).start()
child = os.fork()
if not child:
    os._exit(0)
os.waitpid(child, 0)
warnings.warn_explicit({said!r}, DeprecationWarning, "script.py", 1)  # as Python does since 3.12
let_go.set()
"""


def test_such_a_thread_has_every_signal_blocked_and_is_not_counted() -> None:
    found: queue.SimpleQueue[tuple[set[int], int]] = queue.SimpleQueue()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    threads.start(lambda: found.put((signal.pthread_sigmask(signal.SIG_BLOCK, []), threading.active_count())))
    blocked, count = found.get(timeout=20)
    assert {signal.SIGUSR1, signal.SIGTERM, signal.SIGINT} <= blocked
    assert count == threading.active_count()
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before


def stderr_of(*, another: bool) -> str:
    text = SCRIPT.format(another=another, said=SAID)
    command = [sys.executable, "-W", "always", "-c", textwrap.dedent(text)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_a_script_that_forks_is_not_warned_of_threads_that_are_ours() -> None:
    assert stderr_of(another=False) == ""


def test_a_script_that_forks_is_warned_of_its_own() -> None:
    assert SAID in stderr_of(another=True)


def test_other_warnings_are_as_ever() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        threads._hush()
        threads._hush()
        assert warnings.filters.count(threads._NOT_SAID) == 1
        with pytest.raises(DeprecationWarning):
            warnings.warn("this will be gone", DeprecationWarning, stacklevel=1)


def test_a_thread_that_is_over_is_not_counted_as_ours() -> None:
    begun, let_go = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        let_go.wait(20)

    before = len(threads._ours)
    threads.start(work)
    assert begun.wait(20) and len(threads._ours) == before + 1
    let_go.set()
    for _ in range(1000):
        if len(threads._ours) == before:
            break
        threading.Event().wait(0.01)
    assert len(threads._ours) == before
