"""A traceback under `flor record` has the user's lines and carets, and no frame of flor."""

# ruff: noqa: E501 (a small script is best on one line)

from __future__ import annotations

from pathlib import Path

import pytest
from bothways import Row, assert_same, by_flor, names, see

ROWS = [
    Row("a plain error", "x = 1\nfor i in range(3):\n    y = (x +\n         i / (x - 1))"),
    Row("carets", "def f(a):\n    for i in a:\n        return a['x'] + a['y']['z'](1, 2)\nf([1])"),
    Row("a chain", """
        def f():
            for i in [1]:
                try:
                    {}["a"]
                except KeyError as error:
                    raise ValueError("no a") from error
        try:
            f()
        except ValueError:
            while True:
                raise RuntimeError("then this")
        """, table="a chained traceback"),
    Row("no context", "for i in [1]:\n    try:\n        {}['a']\n    except KeyError:\n        raise ValueError('x') from None"),
    Row("an imported module", "import friend\nfor i in range(2):\n    friend.work(i)",
        files={"friend.py": "def work(n):\n    while True:\n        n = (\n            1 / n)"}, table="a traceback through a project's module"),
    Row("an import that fails", "for i in [1]:\n    import friend", files={"friend.py": "import other", "other.py": "for i in [1]:\n    print(1/0)"}),
    Row("no such module", "import nowhere.at.all"),
    Row("no such name", "from friend import missing", files={"friend.py": "a = 1"}),
    Row("a module that fails", "", target=("-m", "pkg.mod"),
        files={"pkg/__init__.py": "", "pkg/mod.py": "for i in [1]:\n    raise ValueError(i)"}, table="a traceback of `-m module`"),
    Row("a package that fails", "", target=("-m", "pkg.mod"), files={"pkg/__init__.py": "for i in [1]:\n    1 / 0", "pkg/mod.py": ""}),
    Row("a folder that fails", "", target=("app",), files={"app/__main__.py": "for i in [1]:\n    1 / 0"}),
    Row("a generator", """
        def numbers():
            for i in range(3):
                yield i
            raise ValueError("dry")
        def consume():
            for n in numbers():
                for again in [n]:
                    pass
        consume()
        """, table="a loop over a generator that raises"),
    Row("an iterator of the user's", """
        class Many:
            def __iter__(self):
                return self
            def __next__(self):
                raise ValueError("no more")
        for x in Many():
            print(x)
        """),
    Row("an iterable that can't begin", "class A:\n    def __iter__(self):\n        raise ValueError('x')\nfor a in A():\n    print(a)"),
    Row("a getitem loop", "class A:\n    def __getitem__(self, i):\n        if i > 1: raise ValueError(i)\n        return i\nfor a in A():\n    print(a)"),
    Row("no iterable", "for x in 5:\n    print(x)", table="`for x in 5:`"),
    Row("no iterable in a function", "def f(n):\n    for x in (\n        n\n    ):\n        print(x)\nf(None)"),
    Row("unpacking too much", "for a, b in [(1, 2), (1, 2, 3)]:\n    print(a)"),
    Row("unpacking too little", "def f():\n    for a, b in zip([1]):\n        print(a)\nf()"),
    Row("a while test", "n = 2\nwhile 1 / n:\n    print(n)\n    n -= 1"),
    Row("a while test with and", "n, m = 2, []\nwhile n and m[0]:\n    print(n)"),
    Row("an unbound name", "def f():\n    for i in range(2):\n        print(later)\n        later = i\nf()"),
    Row("a syntax error", "x = 1\nfor i in range(3)\n    print(i)", table="`SyntaxError` in the script"),
    Row("a syntax error with a caret", "def f(:\n  pass"),
    Row("an indent error", "for i in [1]:\nprint(i)"),
    Row("a tab error", b"if 1:\n        a = 1\n\tb = 2\n"),
    Row("a late syntax error", "def f():\n    return 1\nfor i in [1]:\n    break\ncontinue"),
    Row("a syntax error in a module", "import friend", files={"friend.py": "a = 1\nb = = 2\n"}, table="`SyntaxError` in a project's module"),
    Row("a null byte in a module", "import friend", files={"friend.py": b"a = 'x\0y'\n"}),
    Row("a recursion that ends", "def f(n):\n    for i in [n]:\n        return f(n + 1) if n < 900 else n\nprint(f(0))"),
    Row("print_exc in a loop", """
        import traceback, sys
        def f(n):
            for j in range(n):
                raise ValueError(j)
        for i in range(3):
            try:
                f(i)
            except ValueError:
                traceback.print_exc()
                print(traceback.format_exc(), sys.exc_info()[2].tb_lineno)
        """, table="`traceback.print_exc()` in a loop"),
    Row("a note", "for i in [1]:\n    e = ValueError('x')\n    e.add_note('and more')\n    raise e"),
    Row("a group", "def f():\n    for i in [1]:\n        raise ExceptionGroup('both', [ValueError(1), TypeError(2)])\nf()"),
    Row("a group caught in part", "try:\n    for i in [1]:\n        raise ExceptionGroup('g', [ValueError(1), KeyError(2)])\nexcept* ValueError as e:\n    print(e.exceptions)"),
    Row("a sort key", "def key(x):\n    for i in [x]:\n        return 1 / i\nfor j in [1]:\n    sorted([1, 0], key=key)"),
    Row("an error in a with", "import contextlib\n@contextlib.contextmanager\ndef c():\n    for i in [1]:\n        yield\nfor i in [1]:\n    with c():\n        1 / 0"),
    Row("a stop iteration", "def f():\n    for i in [1]:\n        next(iter([]))\nf()"),
    Row("a stop iteration in a generator", "def g():\n    for i in [1]:\n        yield next(iter([]))\nfor x in g():\n    print(x)"),
    Row("an assertion", "def f(x):\n    for i in [x]:\n        assert i > 3, f'{i} is small'\nf(1)"),
    Row("a long name", "def f():\n    for i in [1]:\n        undefined_thing.x\nf()"),
    Row("a hint", "import sys\nfor i in [1]:\n    sys.pth"),
    Row("an error in a class body", "class A:\n    for i in [1]:\n        x = 1 / 0"),
    Row("an error in a default", "def f(x=[1 / 0 for i in [1]]):\n    pass"),
    Row("an error in a comprehension", "for i in [1]:\n    [1 / j for j in [0]]"),
    Row("an error in eval", "for i in [1]:\n    eval('1 / 0')"),
    Row("an error in exec", "for i in [1]:\n    exec('for j in [1]:\\n    1 / 0')"),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=names(ROWS))
def test_a_traceback_is_as_under_python(row: Row, tmp_path: Path) -> None:
    assert_same(row, tmp_path / "work")


def test_flor_debug_shows_our_frames(tmp_path: Path) -> None:
    row = Row("debug", "for i in [1]:\n    1 / 0", env={"FLOR_DEBUG": "1"})
    assert "launch/script.py" in see(row, tmp_path / "work", by_flor).stderr


@pytest.mark.parametrize(
    "text",
    [b"x = 1\nprint('a\0b')\n", b"x = '\xff'\n", b"# coding: nonsense\nx = 1\n"],
    ids=["null", "no-utf8", "no-encoding"],
)
def test_text_that_is_no_text_is_a_syntax_error(text: bytes, tmp_path: Path) -> None:
    seen = see(Row("text", text), tmp_path / "work", by_flor)
    assert (seen.code, seen.stderr.splitlines()[-1].partition(":")[0]) == (1, "SyntaxError")


def test_a_recursion_without_end_is_a_recursion_error(tmp_path: Path) -> None:
    endless = "def f(n):\n    for i in [n]:\n        f(n + 1)\nf(0)"
    seen = see(Row("endless", endless), tmp_path / "work", by_flor)
    assert seen.stderr.splitlines()[-1].startswith("RecursionError: maximum recursion depth exceeded")
    assert "flor/" not in seen.stderr


def test_the_live_stack_is_the_users_with_ours_only_below_it(tmp_path: Path) -> None:
    script = """
        import inspect, traceback
        def where():
            for i in map(str, range(1)):
                return [(f.function, f.lineno) for f in inspect.stack()]
        class A:
            def m(self):
                while True:
                    return where()
        print(A().m()[:3], [f.lineno for f in traceback.extract_stack()][-1:])
        """
    assert_same(Row("stack", script), tmp_path / "work")
