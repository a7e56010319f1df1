"""Under `flor record` a script is started as under `python`: arguments, paths, names, environment."""

# ruff: noqa: E501 (a small script is best on one line)

from __future__ import annotations

import io
import re
import zipfile
from importlib import import_module
from pathlib import Path

import pytest
from bothways import Row, assert_same, names

WHO = """
    \"\"\"The docstring.\"\"\"
    import os, sys
    from importlib import machinery
    import __main__
    spec = __spec__ and (__spec__.name, __spec__.origin, __spec__.parent, __spec__.has_location)
    print(sys.argv)
    print(os.getcwd(), sys.path)
    print(__name__, __file__, repr(__package__), spec, isinstance(__loader__, machinery.SourceFileLoader), __doc__)
    print(sorted(vars(__main__).keys() - {"_flor"}), vars() is vars(__main__), sys.modules["__main__"] is __main__)
    print(__builtins__.__name__, __annotations__, __cached__, sys.flags, sys.warnoptions)
    print(sorted(os.environ.items()), os.path.dirname(sys.executable), sys.getrecursionlimit())
"""
PACKAGE = {"pkg/__init__.py": "print('pkg', __name__, __path__)", "pkg/mod.py": WHO, "pkg/__main__.py": WHO}


def archive() -> bytes:
    """A zip with a `__main__.py`."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        file.writestr("__main__.py", "import sys, friend\nprint(__file__, sys.argv, sys.path[0], friend.__file__)")
        file.writestr("friend.py", "")
    return data.getvalue()


ARGUMENTS = "import sys; print(sys.argv)"
PLACE = "import os, sys; print(os.getcwd(), sys.path[:2], __file__); import friend"
NAMES = "import sys; print(__name__, __package__, __spec__ and __spec__.name, sys.argv, sys.path[0])"

ROWS = [
    Row("argv", ARGUMENTS, args=("a b", "", "-x"), table="`sys.argv`"),
    Row("argv like ours", ARGUMENTS, args=("-m", "y", "--", "-h", "--name", "x"), table="`sys.argv` with `--`, `-m`, `-h` in it"),
    Row("path", PLACE, files={"friend.py": ""}, table="`sys.path`, `__file__`, current folder"),
    Row("path elsewhere", "", target=("../other/s.py",), cwd="here", files={"here/x": "", "other/s.py": PLACE, "other/friend.py": ""}, table="the same for a script in another folder"),
    Row("main", "import sys, __main__\nprint(sorted(k for k in vars() if k != '_flor'), __main__.__dict__ is vars())", table="the names in `__main__`"),
    Row("module", "", target=("-m", "pkg.mod"), files={"pkg/__init__.py": "", "pkg/mod.py": NAMES}, args=("-x",), table="`-m module`"),
    Row("package", "", target=("-m", "pkg"), files={"pkg/__init__.py": "", "pkg/__main__.py": NAMES}, table="`-m package`"),
    Row("folder", "", target=("app",), files={"app/__main__.py": NAMES}, table="a folder with `__main__.py`"),
    Row("environment", "import os; print(sorted(os.environ))", table="`os.environ`"),
    Row("python's options", "import sys; print(sys.flags, sys.warnoptions)", python=("-W", "error", "-X", "dev"), table="`-W error`, `-X dev`"),
    Row("a script", WHO),
    Row("arguments", WHO, args=("a b", "", "-x", "--lr=0.1", "ü")),
    Row(
        "arguments that look like ours",
        WHO,
        args=("--name", "x", "-m", "y", "--store", "z", "--", "--overhead", "-h", "--help", "--version"),
    ),
    Row("a module", "", target=("-m", "pkg.mod"), files=PACKAGE, args=("-m", "x")),
    Row("a package", "", target=("-m", "pkg"), files=PACKAGE, args=("--", "y")),
    Row("a module beside", "", target=("-m", "beside"), files={"beside.py": WHO}),
    Row("a module of a namespace", "", target=("-m", "space.inner.mod"), files={"space/inner/mod.py": WHO}),
    Row("a module joined to its option", "", target=("-mbeside",), files={"beside.py": WHO}),
    Row("a folder", "", target=("app",), files={"app/__main__.py": WHO, "app/x.py": ""}),
    Row("a folder with a slash", "", target=("./app/",), files={"app/__main__.py": WHO}),
    Row("a path with dots", WHO, target=("./sub/../script.py",), files={"sub/x": ""}),
    Row("a script elsewhere", "", target=("../other/script.py",), cwd="here",
        files={"here/x": "", "other/script.py": WHO + "\n    import friend", "other/friend.py": "print(__name__, __file__)"}),
    Row("a symbolic link", "", target=("link.py",), cwd="here", links={"here/link.py": "../real/s.py"},
        files={"here/x": "", "real/s.py": WHO + "\n    import friend", "real/friend.py": "print(__file__)"}),
    Row("an archive", "", target=("app.zip",), files={"app.zip": archive()}),
    Row("python options", WHO, python=("-W", "error", "-X", "dev", "-B")),
    Row("safe path", WHO, python=("-P",)),
    Row("safe path for a module", "", python=("-P",), target=("-m", "json.tool", "--help")),
    Row("isolated", WHO, python=("-I",)),
    Row("safe path by environment", WHO, env={"PYTHONSAFEPATH": "1"}),
    Row("a python path", "import friend\n" + "print(friend.__file__)", env={"PYTHONPATH": "lib"}, files={"lib/friend.py": ""}),
    Row("a hash seed", "import os; print(hash('a'), os.environ['PYTHONHASHSEED'])", env={"PYTHONHASHSEED": "7"}),
    Row("a random hash seed", "import os; print(os.environ.get('PYTHONHASHSEED'))", env={"PYTHONHASHSEED": "random"}),
    Row("no hash seed", "import os; print(hash('a'))", env={"PYTHONHASHSEED": "0"}),
    Row("standard input", "import sys; print(input(), sys.stdin.readline(), sys.stdin.read(), sys.stdin.isatty())",
        stdin="one\ntwo\nthree\nfour"),
    Row("if name is main", "def main():\n    print('ran')\nif __name__ == '__main__':\n    main()"),
    Row("an empty script", ""),
    Row("an encoding cookie", b"# -*- coding: latin-1 -*-\nprint('gr\xfc\xdfe', len('\xe4'))\nfor i in [1]:\n    print('\xf6')\n"),
    Row("a byte order mark", b"\xef\xbb\xbfprint('hi')\nfor i in [1]:\n    print('\xc3\xb6')\n"),
    Row("line ends of windows", b"x = '''a\r\nb'''\r\nfor i in [1]:\r\n    print(repr(x))\r\nraise ValueError(\r\n  x)\r\n"),
    Row("no last line end", b"for i in [1]:\n    print(i)"),
    Row("a form feed and tabs", b"\x0cfor i in [1]:\n\tprint(i)\n\tif i:\n\t        print('deep')\n"),
    Row("future annotations", "from __future__ import annotations\ndef f(x: nowhere) -> int:\n    for i in [1]: print(i)\nf(1)\nprint(f.__annotations__)"),
    Row(
        "shadowing modules",
        """
        import click, queue, xxhash, random, flor_words, json
        print(click.A, queue.A, xxhash.A, random.A, flor_words.A, json.dumps({}))
        import tomllib, logging.handlers, concurrent.futures.thread
        print(tomllib.loads("a = 1"))
        """,
        files={f"{name}.py": "A = __file__" for name in ("click", "queue", "xxhash", "random", "flor_words")},
        table="a user's `click.py`, `queue.py`, `random.py` beside the script",
    ),
    Row(
        "shadowing modules in the current folder",
        "import click, xxhash, queue\nprint(click.A, xxhash.A, queue.A)",
        files={f"{name}.py": "A = __file__" for name in ("click", "queue", "xxhash")},
        python=("-B",),
    ),
    Row(
        "shadowing packages",
        "import rich, click\nprint(rich.A, click.A)",
        files={"rich/__init__.py": "A = __file__", "click/__init__.py": "A = __file__"},
    ),
    Row(
        "a script that edits itself",
        """
        import inspect
        def f():
            return 1
        open(__file__, "a").write("\\n\\ndef g():\\n    return 2\\n")
        print(inspect.getsource(f))
        for i in [0]:
            raise ValueError(f())
        """,
    ),
    Row(
        "random streams",
        """
        import random, secrets
        random.seed(3)
        for i in range(3):
            print(random.random(), random.getrandbits(64))
        """,
    ),
    Row(
        "open files",
        """
        import os
        print(sorted(int(fd) for fd in os.listdir("/proc/self/fd") if int(fd) < 3), os.open("script.py", 0) < 12)
        """,
    ),
    Row("bytecode of modules", "import friend, os\nprint(sorted(os.listdir('__pycache__')) if os.path.exists('__pycache__') else [])",
        files={"friend.py": ""}, python=("-B",)),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=names(ROWS))
def test_a_script_starts_as_under_python(row: Row, tmp_path: Path) -> None:
    assert_same(row, tmp_path / "work")


def test_the_page_has_a_line_for_each_row_that_has_words() -> None:
    page = (Path(__file__).parents[2] / "docs" / "launcher.md").read_text()
    lines = re.findall(r"^\| .* \| exit .* \| `(.*)` \|$", page, re.MULTILINE)
    files = ("launcher", "exits", "tracebacks", "language", "streams", "introspection", "processes", "torch")
    modules = [f"test_{file}" for file in files]
    assert lines == [f"{name}[{row}]" for name in modules for row in import_module(name).ROWS if row.table]
