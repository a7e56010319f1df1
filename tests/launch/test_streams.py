"""What a script prints, logs and warns reaches its reader under `flor record` as under `python`."""

# ruff: noqa: E501 (a small script is best on one line)

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

import pytest
from bothways import Row, assert_same, by_flor, by_python, environment, names, see, write_files

ROWS = [
    Row("the streams themselves", """
        import sys, io
        for s in (sys.stdin, sys.stdout, sys.stderr):
            print(type(s).__name__, s.name, s.fileno(), s.isatty(), s.encoding, s.errors, s.line_buffering, s.mode, s.closed,
                  s.write_through, s.newlines, type(s.buffer).__name__, type(s.buffer.raw).__name__)
        print(sys.stdout is sys.__stdout__, isinstance(sys.stdout, io.TextIOWrapper), sys.stdout.write("x\\n"), sys.stdout.writable())
        print(callable(sys.stdout.write), sys.stdout.write.__name__)
        """, table="`sys.stdout`: type, `fileno`, `isatty`, `encoding`, `buffer`"),
    Row("print in pieces", """
        import sys
        for i in range(3):
            print(i, end="", flush=True)
            print("a", "b", sep="-", end="\\r")
        sys.stdout.writelines(["x\\n", "y\\n"])
        sys.stdout.buffer.write(b"bytes\\n")
        sys.stdout.flush()
        import os
        os.write(1, b"raw\\n")
        print("ü€😀", file=sys.stderr)
        print(file=sys.stderr)
        """),
    Row("wrong writes", """
        import sys
        for bad in (1, b"x", None):
            try:
                sys.stdout.write(bad)
            except TypeError as error:
                print(error)
        try:
            print("\\ud800")
        except UnicodeEncodeError as error:
            print(error)
        """, env={"LANG": "C.UTF-8"}),
    Row("redirected output", """
        import contextlib, io, sys
        out = io.StringIO()
        for i in range(2):
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                print("hidden", i)
                print("err", file=sys.stderr)
        print(repr(out.getvalue()))
        sys.stdout = open("file.txt", "w")
        print("to the file")
        sys.stdout.close()
        sys.stdout = sys.__stdout__
        print(open("file.txt").read())
        """, table="`contextlib.redirect_stdout`"),
    Row("a tee", """
        import sys
        class Tee:
            def __init__(self, stream):
                self.stream, self.kept = stream, []
            def write(self, text):
                self.kept.append(text)
                return self.stream.write(text)
            def flush(self):
                self.stream.flush()
            def __getattr__(self, name):
                return getattr(self.stream, name)
        sys.stdout = Tee(sys.stdout)
        for i in range(2):
            print("line", i)
        print(len(sys.stdout.kept), sys.stdout.isatty(), file=sys.__stderr__)
        """, table="a user's class in place of `sys.stdout`"),
    Row("reconfigured output", """
        import sys, io
        sys.stdout.reconfigure(encoding="latin-1", line_buffering=True)
        print("a")
        sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", write_through=True)
        for i in range(2):
            print("ü", i)
        detached = sys.stderr.detach()
        detached.write(b"detached\\n")
        """),
    Row("duplicated descriptors", """
        import os, sys, subprocess
        for i in range(1):
            subprocess.run(["echo", "from a child"])
        sys.stdout.flush()
        saved = os.dup(1)
        os.dup2(os.open("file.txt", os.O_CREAT | os.O_WRONLY), 1)
        print("into the file", flush=True)
        os.dup2(saved, 1)
        print(open("file.txt").read())
        print(saved < 12)
        """),
    Row("logging", """
        import logging, sys
        print(logging.getLogger().handlers, logging.root.level, logging.lastResort.level)
        logging.warning("before config %s", 1)
        logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s %(funcName)s %(lineno)d %(filename)s %(message)s",
                            stream=sys.stdout, force=True)
        log = logging.getLogger("train")
        def f():
            for i in range(2):
                log.info("step %d", i)
                log.debug("not shown")
                try:
                    1 / 0
                except ZeroDivisionError:
                    log.exception("bad")
                log.warning("up", stacklevel=2)
        f()
        print(logging.Logger.handle.__name__, logging.Logger.manager.loggerDict.keys() - {"concurrent.futures", "concurrent", "asyncio"})
        """, table="`logging`: format, `%(funcName)s`, `stacklevel`"),
    Row("logging with a filter and handlers", """
        import logging, sys
        class H(logging.Handler):
            def emit(self, record):
                for _ in [0]:
                    print("H", record.getMessage(), record.funcName, record.lineno)
        log = logging.getLogger("x"); log.propagate = False; log.addHandler(H()); log.addFilter(lambda r: "no" not in r.msg)
        for i in range(2):
            log.error("yes %s", i); log.error("no")
        log.error("bad %d", "format")
        """),
    Row("warnings", """
        import warnings, sys
        def f():
            for i in range(3):
                warnings.warn("here")
                warnings.warn("there", DeprecationWarning, stacklevel=2)
        f()
        print(warnings.filters == sys.modules["warnings"].filters, len(warnings.filters), "__warningregistry__" in globals())
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            f()
        print([(str(w.message), w.lineno, w.filename == __file__) for w in caught])
        """, table="warnings: text, line, filters"),
    Row("warnings as errors", "import friend\nfor i in range(2):\n    open('script.py').close()\nfriend.f()\nimport asyncio, json, logging",
        files={"friend.py": "def f():\n    for i in [1]: print(i)"}, python=("-W", "error", "-X", "dev")),
    Row("invalid escapes", "x = '\\d'\nfor i in [1]:\n    print(x, i is 1)\nassert (1, 'x')\nimport friend", files={"friend.py": "y = '\\w'\n"}),
    Row("invalid escapes as errors", "for i in [1]:\n    print('\\d')", python=("-W", "error")),
    Row("resource warnings", "def f():\n    for i in [1]:\n        open('script.py')\nf()", python=("-X", "dev")),
    Row("unbuffered", "import sys\nfor i in range(2):\n    print(i)\n    print(i, file=sys.stderr)\nprint(sys.stdout.write_through)", python=("-u",)),
    Row("an encoding by environment", "import sys\nprint(sys.stdout.encoding, sys.stdout.errors)\nfor i in [1]:\n    print('ü')",
        env={"PYTHONIOENCODING": "ascii:backslashreplace"}),
    Row("tqdm", """
        from tqdm import tqdm
        for i in tqdm(range(3), bar_format="{l_bar}{n_fmt}/{total_fmt}", mininterval=0, ascii=True):
            tqdm.write(f"at {i}")
        with tqdm(total=2, bar_format="{n_fmt}", leave=False) as bar:
            for i in range(2):
                bar.update(1)
        """, table="tqdm on stderr"),
    Row("pretty printing and help", "import pprint\nfor i in [1]:\n    pprint.pprint({'a': [i] * 30})\n    help('keywords')"),
    Row("input with a prompt", "for i in range(2):\n    print(repr(input(f'{i}> ')))", stdin="a\nb\n"),
    Row("end of input", "for i in range(2):\n    input('> ')", stdin="a\n"),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=names(ROWS))
def test_output_is_as_under_python(row: Row, tmp_path: Path) -> None:
    assert_same(row, tmp_path / "work")


def test_logging_shows_no_frame_of_ours_when_a_message_is_wrong(tmp_path: Path) -> None:
    row = Row("bad", "import logging\nfor i in [1]:\n    logging.warning('bad %d', 'text')")
    plain, recorded = (see(row, tmp_path / "work", launch).stderr for launch in (by_python, by_flor))
    head, _, call_stack = plain.partition("Call stack:\n")
    assert recorded.startswith(head)
    assert recorded.endswith(call_stack)  # below it on the stack are the frames that started the script


def test_on_a_terminal_output_is_as_under_python(tmp_path: Path) -> None:
    script = """
        import os, sys
        for i in range(2):
            print(i, sys.stdout.isatty(), sys.stdout.line_buffering, os.get_terminal_size().columns)
        print(input("name? "), sys.stdin.isatty())
        """
    write_files(tmp_path, {"script.py": script})
    plain, recorded = (on_terminal(launch(Row("tty", script)), tmp_path) for launch in (by_python, by_flor))
    assert b"True True" in plain
    assert recorded == plain


def on_terminal(command: list[str], folder: Path) -> bytes:
    """What a command prints on a terminal of its own, without stderr."""
    ours, its = pty.openpty()
    child = subprocess.Popen(
        command, cwd=folder, stdin=its, stdout=its, stderr=subprocess.DEVNULL, env=environment({"TERM": "dumb"})
    )
    os.close(its)
    os.write(ours, b"me\n")
    pieces = []
    try:
        while piece := os.read(ours, 4096):
            pieces.append(piece)
    except OSError:  # what Linux says once the other side is closed
        pass
    os.close(ours)
    assert child.wait() == 0
    return b"".join(pieces)
