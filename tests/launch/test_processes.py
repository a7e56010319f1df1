"""Children and threads of a script live under `flor record` as under `python`."""

# ruff: noqa: E501 (a small script is best on one line)

from __future__ import annotations

from pathlib import Path

import pytest
from bothways import Row, assert_same, names

POOL = """
    import multiprocessing as mp, os, sys
    from dataclasses import dataclass
    @dataclass
    class Job:
        n: int
    def work(job):
        total = 0
        for i in range(job.n):
            total += i
            print(end="")
        return total, __name__, mp.current_process().name[:5], sys.argv
    def fail(n):
        for i in range(n):
            raise ValueError(n)
    def talk(queue):
        while (item := queue.get()) is not None:
            queue.put(item * 2) if item == 1 else print("child has", item, flush=True)
    if __name__ == "__main__":
        context = mp.get_context(METHOD)
        with context.Pool(2) as pool:
            for result in pool.map(work, [Job(2), Job(3)]):
                print(result[0], result[1], result[3])
            try:
                pool.apply(fail, (1,))
            except ValueError as error:
                print("failed", error)
        p = context.Process(target=sys.exit, args=(4,)); p.start(); p.join()
        print(p.exitcode, mp.get_start_method(), len(mp.active_children()))
"""
ROWS = [
    *(Row(method, POOL.replace("METHOD", repr(method)), table=f"multiprocessing, {method}")
      for method in ("fork", "spawn", "forkserver")),
    Row("spawn from a module", "", target=("-m", "pkg.mod"), files={"pkg/__init__.py": "", "pkg/mod.py": POOL.replace("METHOD", "'spawn'")}),
    Row("a process that fails", """
        import multiprocessing as mp
        def f():
            for i in [1]: raise ValueError("in the child")
        if __name__ == "__main__":
            p = mp.get_context("spawn").Process(target=f, name="P"); p.start(); p.join()
            print(p.exitcode)
        """),
    Row("futures", """
        import concurrent.futures as cf, multiprocessing as mp
        def f(n):
            for i in range(n): print(end="")
            return n * n
        if __name__ == "__main__":
            with cf.ThreadPoolExecutor(2) as threads, cf.ProcessPoolExecutor(2, mp_context=mp.get_context("fork")) as processes:
                for pool in (threads, processes):
                    print(list(pool.map(f, range(4))))
                future = processes.submit(divmod, 1, 0)
            print(type(future.exception()).__name__)
        """, table="concurrent.futures"),
    Row("threads", """
        import threading, queue
        out, lock = queue.Queue(), threading.Lock()
        def work(name):
            for i in range(3):
                with lock: print(name, i, threading.current_thread().name)
                out.put(i)
        threads = [threading.Thread(target=work, args=(n,), name=f"T{n}") for n in range(2)]
        for t in threads:
            t.start(); t.join()
        print(sorted(out.queue), threading.active_count() - len([t for t in threading.enumerate() if t is not threading.main_thread()]))
        local = threading.local()
        local.x = 1
        timer = threading.Timer(0.01, print, ["timer"]); timer.start(); timer.join()
        """, table="threads that print"),
    Row("subprocesses", """
        import subprocess, sys, os
        for i in range(2):
            print(subprocess.run([sys.executable, "-c", "import sys; print(sys.argv, sys.flags.hash_randomization); sys.exit(3)"], capture_output=True).stdout)
        print(subprocess.check_output("echo $PYTHONHASHSEED-$FLOR_HASHSEED", shell=True))
        print(os.system("exit 2"), os.popen("echo hi").read())
        """, table="subprocesses and their environment"),
    Row("a script that starts itself", """
        import subprocess, sys
        if len(sys.argv) == 1:
            print(subprocess.check_output([sys.executable, *sys.argv, "child"], text=True))
        else:
            for i in range(2): print(i, sys.argv, __name__)
        """),
    Row("shared memory", """
        from multiprocessing import shared_memory, Manager, Value
        import multiprocessing as mp
        def f(v, d):
            for i in range(3):
                with v.get_lock(): v.value += i
            d["x"] = v.value
        if __name__ == "__main__":
            v = Value("i", 0)
            with Manager() as manager:
                d = manager.dict()
                p = mp.Process(target=f, args=(v, d)); p.start(); p.join()
                print(v.value, dict(d))
        """),
    Row("joblib", """
        from joblib import Parallel, delayed
        def f(n):
            for i in range(n): print(end="")
            return n + 1
        print(Parallel(n_jobs=2, prefer="threads")(delayed(f)(i) for i in range(3)))
        """),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=names(ROWS))
def test_children_live_as_under_python(row: Row, tmp_path: Path) -> None:
    assert_same(row, tmp_path / "work")


def test_threads_of_ours_are_not_counted(tmp_path: Path) -> None:
    script = "import threading\nprint(threading.active_count(), [t.name for t in threading.enumerate()])"
    assert_same(Row("count", script), tmp_path / "work")
