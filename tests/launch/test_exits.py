"""A script ends under `flor record` as under `python`: exit codes, signals, hooks, and the order of what runs last."""

# ruff: noqa: E501 (a small script is best on one line)

from __future__ import annotations

from pathlib import Path

import pytest
from bothways import Row, assert_same, names

ROWS = [
    Row("exit 3", "import sys\nfor i in range(9):\n    sys.exit(3)", table="`sys.exit(n)`"),
    Row("exit none", "import sys\nsys.exit(None)"),
    Row("exit zero", "raise SystemExit(0)"),
    Row("exit with a text", "import sys\nsys.exit('that was it')", table='`sys.exit("text")`'),
    Row("exit above 255", "import sys\nsys.exit(259)"),
    Row("exit below zero", "import sys\nsys.exit(-1)"),
    Row("exit with a tuple", "import sys\nsys.exit((1, 'b'))"),
    Row("exit true", "import sys\nsys.exit(True)"),
    Row("exit by name", "print('a')\nexit(4)"),
    Row("an exception", "for i in [1]:\n    {}['a']", table="an exception: exit code and traceback"),
    Row("an exit in a function's loop", "import sys\ndef f():\n    while True:\n        sys.exit('x')\nf()"),
    Row("a caught exit", "try:\n    for i in [1]:\n        raise SystemExit(3)\nexcept SystemExit as e:\n    print(e.code)"),
    Row("exit without cleaning up", "import os\nprint('kept', flush=True)\nprint('lost')\nos._exit(7)", table="`os._exit(n)`"),
    Row("an abort", "import os\nprint('x', flush=True)\nos.abort()"),
    Row(
        "an interrupt",
        "import os, signal\nfor i in range(3):\n    os.kill(os.getpid(), signal.SIGINT)\n    print('not here')",
        table="Ctrl-C: exit by SIGINT and traceback",
    ),
    Row("a caught interrupt", """
        import os, signal, sys
        try:
            for i in range(3):
                signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            print("interrupted in", i)
            sys.exit(130)
        """),
    Row("a termination", "import os, signal\nprint('a', flush=True)\nos.kill(os.getpid(), signal.SIGTERM)", table="SIGTERM"),
    Row("a kill", "import os, signal\nprint('a', flush=True)\nos.kill(os.getpid(), signal.SIGKILL)"),
    Row("a signal handler", """
        import os, signal, sys
        def handle(number, frame):
            print("got", number, frame.f_code.co_name, frame.f_lineno)
            sys.exit(9)
        print(signal.signal(signal.SIGTERM, handle), signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGHUP))
        def work():
            for i in range(3):
                os.kill(os.getpid(), signal.SIGTERM)
        work()
        """, table="signal handlers of the script"),
    Row("an alarm", """
        import signal, time
        def handle(number, frame):
            raise TimeoutError("late")
        signal.signal(signal.SIGALRM, handle)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        for i in range(1000):
            time.sleep(0.01)
        """),
    Row("a broken pipe", "import os\nr, w = os.pipe()\nos.close(r)\nos.write(w, b'x')"),
    Row("an excepthook", """
        import sys, traceback
        def hook(kind, error, trace):
            print("hooked", kind.__name__, error, [f.name for f in traceback.extract_tb(trace)], error.__traceback__ is trace)
        sys.excepthook = hook
        def f():
            for i in [1]:
                raise ValueError("bad")
        f()
        """, table="`sys.excepthook` of the script"),
    Row("an excepthook that fails", """
        import sys
        def hook(kind, error, trace):
            raise TypeError("in the hook")
        sys.excepthook = hook
        raise ValueError("bad")
        """),
    Row("the default excepthook", """
        import sys
        print(sys.excepthook is sys.__excepthook__, sys.displayhook is sys.__displayhook__, sys.gettrace(), sys.getprofile())
        """),
    Row("an exception's hook in a thread", """
        import threading
        def hook(args):
            print("thread hook", args.exc_type.__name__, args.exc_value)
        threading.excepthook = hook
        def f():
            for i in [1]:
                raise ValueError("bad")
        t = threading.Thread(target=f); t.start(); t.join()
        """, table="`threading.excepthook` of the script"),
    Row("an exception in a thread", """
        import threading
        def f():
            for i in [1]:
                raise ValueError("bad")
        t = threading.Thread(target=f, name="T"); t.start(); t.join()
        print("main goes on")
        """),
    Row("an unraisable exception", """
        class A:
            def __del__(self):
                for i in [1]:
                    raise ValueError("in del")
        a = A()
        del a
        print("on")
        """),
    Row("the order of what runs at exit", """
        import atexit, sys, threading, time, weakref
        class A:
            def __del__(self):
                print("deleted")
        keep = A()
        weakref.finalize(keep, print, "finalized")
        def last():
            time.sleep(0.05)
            for i in range(2):
                print("thread", i)
        atexit.register(print, "first registered")
        atexit.register(lambda: [print("second registered", i) for i in range(2)])
        threading._register_atexit(print, "threading's own")
        threading.Thread(target=last).start()
        print("main is over")
        sys.exit(5)
        """, table="`atexit` order, threads that outlive main"),
    Row("an exception at exit", """
        import atexit
        def bad():
            for i in [1]:
                raise ValueError("at exit")
        atexit.register(bad)
        atexit.register(print, "still runs")
        """),
    Row("an exit code changed at exit", "import atexit, os\natexit.register(os._exit, 6)\nprint('x', flush=True)"),
    Row("a daemon thread", """
        import threading, time
        def forever():
            while True:
                time.sleep(0.01)
        threading.Thread(target=forever, daemon=True).start()
        print(threading.active_count() < 4, threading.main_thread() is threading.current_thread())
        """),
    Row("a closed standard output", "import sys\nprint('a')\nsys.stdout.close()"),
    Row("a closed standard error", "import sys\nsys.stderr.close()\nprint('a')\nsys.exit(2)"),
    Row("no standard output", "import sys\nsys.stdout = None\nprint('nowhere')\nsys.stderr.write('x\\n')"),
    Row("an exec", "import os, sys\nprint('a', flush=True)\nos.execv(sys.executable, [sys.executable, '-c', 'print(5)'])"),
    Row("a fork", """
        import os
        pid = os.fork()
        for i in range(2):
            print("child" if pid == 0 else "parent", i, flush=True) if pid == 0 else None
        if pid == 0:
            import sys
            sys.exit(3)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        """),
    Row("a recursion limit", "import sys\nsys.setrecursionlimit(200)\ndef f(n):\n    for i in [n]:\n        return f(n - 1) if n else 'end'\nprint(f(60))"),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=names(ROWS))
def test_a_script_ends_as_under_python(row: Row, tmp_path: Path) -> None:
    assert_same(row, tmp_path / "work")
