"""Debuggers, pickles, sources and tests find under `flor record` what they find under `python`."""

# ruff: noqa: E501 (a small script is best on one line)

from __future__ import annotations

from pathlib import Path

import pytest
from bothways import Row, assert_same, names

ROWS = [
    Row("no breakpoint", "for i in range(2):\n    breakpoint()\n    print(i)", env={"PYTHONBREAKPOINT": "0"}),
    Row("a breakpoint of the user's", "def mine(*a, **k):\n    print('mine', a, k)\nimport sys\nsys.breakpointhook = mine\nfor i in [1]:\n    breakpoint(i, x=2)"),
    Row("pdb", """
        def f(n):
            total = 0
            for i in range(n):
                breakpoint()
                total += i
                while total > 100:
                    total -= 1
            return total
        print(f(3))
        """, stdin="p i, total\nn\nn\nn\np total\nl\nargs\nc\nu\np __name__\nd\np i\nb 9\nc\nc\np total\nc\n",
        table="`breakpoint()` and pdb: step, print, list, continue"),
    Row("pdb in a module", "import friend\nfriend.f()", files={"friend.py": "def f():\n    for i in [1, 2]:\n        breakpoint()\n        j = i\n"},
        stdin="p i\nn\nl .\nc\nq\n"),
    Row("pdb post mortem", """
        import pdb, sys
        def f(x):
            for i in range(x):
                1 / (i - 1)
        try:
            f(3)
        except ZeroDivisionError:
            pdb.post_mortem()
        print("done")
        """, stdin="p i, x\nl\nu\nl\nq\n"),
    Row("sources", """
        import inspect, sys
        def f(a):
            '''Doc.'''
            for i in range(a):  # a comment
                yield i
        class C:
            x = 1
            def m(self):
                while True:
                    return lambda: [i for i in range(3)]
        import friend
        print(inspect.getsource(f), inspect.getsource(C), inspect.getsource(C.m), inspect.getsource(C().m()))
        print(inspect.getsourcelines(f)[1], inspect.getfile(C) == __file__, inspect.getdoc(f), inspect.getmodule(f).__name__)
        print(inspect.getsource(friend.g), inspect.getsource(friend), friend.__loader__.get_source("friend"), friend.__spec__.origin, friend.__cached__)
        print(inspect.getsource(sys.modules["__main__"]) == open(__file__).read(), inspect.getcomments(f), inspect.isgeneratorfunction(f))
        """, files={"friend.py": "# about it\ndef g():\n    for i in [1]:\n        print(i)\n"}, table="`inspect.getsource`"),
    Row("pickles", """
        import pickle, copy, sys
        class Point:
            def __init__(self, x):
                for self.x in range(x): pass
            def __eq__(self, other): return self.x == other.x
        def f(n):
            for i in range(n): print(i)
            return n
        data = pickle.dumps([Point(3), f, Point])
        back = pickle.loads(data)
        print(data, back[0] == Point(3), back[1] is f, copy.deepcopy(Point(2)).x, Point.__module__, f.__module__, f.__globals__ is vars())
        """, table="pickling what `__main__` defines"),
    Row("cloudpickle", """
        import cloudpickle, pickle, subprocess, sys
        k = 3
        def f(n):
            s = 0
            for i in range(n):
                s += len([i] * k)
            return s
        class A:
            def m(self):
                while True: return f(2)
        text = pickle.dumps(cloudpickle.dumps([f, A])).hex()
        print([g(3) if g is not A else 0 for g in cloudpickle.loads(cloudpickle.dumps([f]))])
        code = f"import pickle; f, A = pickle.loads(pickle.loads(bytes.fromhex('{text}'))); print(f(4), A().m())"
        print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
        """, table="cloudpickle to another process"),
    Row("dataclasses and enums", """
        import dataclasses, enum, typing
        @dataclasses.dataclass(frozen=True, slots=True)
        class D:
            a: int
            b: list[int] = dataclasses.field(default_factory=list)
            def total(self):
                for x in self.b: print(x)
                return sum(self.b)
        class E(enum.Enum):
            A = 1
            B = enum.auto()
        class N(typing.NamedTuple):
            x: int = 1
        for e in E: print(e, D(1, [2]).total(), D(1), N(), dataclasses.replace(D(1), a=2))
        print(typing.get_type_hints(D), D.__match_args__)
        """),
    Row("doctest", '''
        import doctest
        def f(n):
            """Adds.

            >>> f(3)
            0
            1
            2
            3
            >>> for i in range(2):
            ...     print(i)
            0
            1
            >>> f("x")
            Traceback (most recent call last):
            TypeError: 'str' object cannot be interpreted as an integer
            >>> 1 + 1
            3
            """
            for i in range(n):
                print(i)
            return n
        print(doctest.testmod())
        ''', table="`doctest.testmod()`"),
    Row("unittest", """
        import unittest
        class T(unittest.TestCase):
            def test_loop(self):
                for i in range(3):
                    with self.subTest(i=i):
                        self.assertNotEqual(i, 1)
        unittest.main(argv=["x"], exit=False, testRunner=unittest.TextTestRunner(stream=open("out.txt", "w")))
        print("test_loop" in open("out.txt").read())
        """),
    Row("argparse", """
        import argparse
        p = argparse.ArgumentParser()
        p.add_argument("--epochs", type=int, default=2)
        a = p.parse_args()
        for e in range(a.epochs): print(e)
        """, args=("--epochs", "three"), table="argparse's usage errors"),
    Row("imports of all kinds", """
        import importlib, sys, pkgutil
        import pkg.sub.deep as deep
        from pkg import sub, name
        from pkg.sub import *
        print(deep.__name__, sub.__path__, name, star, deep.__package__, sorted(m.name for m in pkgutil.iter_modules(sub.__path__)))
        friend = importlib.import_module("friend")
        open("friend.py", "w").write("for i in [2]:\\n    x = 22 * i\\n    print(i)\\n")
        print(friend.x, importlib.reload(friend) is friend, friend.x, importlib.util.find_spec("friend").origin)
        spec = importlib.util.spec_from_file_location("other", "plug/in.py")
        other = importlib.util.module_from_spec(spec); spec.loader.exec_module(other)
        print(other.f(), other.__file__)
        import space.part
        print(space.part.A, [type(f).__name__ for f in sys.path_importer_cache.values()][:0])
        try:
            from pkg import nothing
        except ImportError as error:
            print(error)
        print("friend" in sys.modules, sys.modules["__main__"].__name__)
        """, files={
            "pkg/__init__.py": "name = 'n'\nfor i in [1]:\n    print('pkg', i)", "pkg/sub/__init__.py": "__all__ = ['star']\nstar = 5\nfrom . import deep\nfrom .. import name",
            "pkg/sub/deep.py": "def f():\n    while True: return 1", "friend.py": "x = 1", "plug/in.py": "def f():\n    for i in [4]: return i", "space/part.py": "A = 1"}),
    Row("a circular import", "import a\nprint(a.x, a.b.y)", files={"a.py": "import b\nfor i in [1]:\n    x = abs(i)", "b.py": "import a\ny = hasattr(a, 'x')"}),
    Row("a meta path finder", """
        import sys, importlib.abc, importlib.machinery
        class F(importlib.abc.MetaPathFinder, importlib.abc.Loader):
            def find_spec(self, name, path, target=None):
                if name == "made": return importlib.machinery.ModuleSpec(name, self)
            def exec_module(self, module):
                for i in [1]: module.x = "made"
        sys.meta_path.insert(0, F())
        import made
        print(made.x)
        """),
    Row("import main", "import sys\nx = 1\nimport friend\nprint(friend.got)", files={"friend.py": "import __main__\ngot = __main__.x\nfor i in [1]:\n    print(__main__.__file__)"}),
    Row("imported again", "if __name__ == '__main__':\n    import script\n    print(script.x, script.__name__)\nfor i in [1]:\n    x = abs(i)\n    print(__name__)"),
    Row("code of functions", """
        import inspect
        def f(a, b=1):
            "doc"
            for i in range(a):
                b += i
            return b
        c = f.__code__
        print(c.co_varnames, c.co_argcount, c.co_firstlineno, c.co_name, c.co_qualname, c.co_filename == __file__, f.__doc__, inspect.signature(f))
        def docless():
            for i in [1]: print(i)
        print(docless.__doc__, (lambda: 1).__doc__, c.co_consts[0])
        """),
    Row("what names are seen", """
        import sys
        x = 1
        def f():
            y = 2
            for i in range(1):
                print(sorted(locals()), sorted(vars()), dir())
            while y:
                y -= 1
                print(sorted(locals()))
        f()
        for i in [1]:
            print(sorted(n for n in globals() if not n.startswith("_")), sorted(n for n in dir() if not n.startswith("_")))
        class A:
            for j in [1]: print(sorted(locals()))
        import friend
        print(sorted(n for n in vars(friend) if not n.startswith("_")))
        print({n: v for n, v in list(globals().items()) if isinstance(v, int)})
        """, files={"friend.py": "a = 1\nfor b in [1]:\n    print(b, __name__)"}, table="`locals()`, `globals()`, `dir()`"),
    Row("memory", """
        import gc, sys, weakref
        class A: pass
        def f():
            a = A()
            for i in range(2): r = weakref.ref(a)
            return r
        print(f()() is None, gc.isenabled(), gc.get_threshold())
        x = []
        for i in map(abs, [1]): print(sys.getrefcount(x))
        """),
    Row("a profiler", "import cProfile, pstats, io\np = cProfile.Profile()\nfor i in [1]:\n    p.runcall(sorted, [2, 1])\nprint(pstats.Stats(p, stream=io.StringIO()).total_calls > 0)"),
    Row("a change of folder", "import os\nos.mkdir('d')\nos.chdir('d')\nfor i in range(2):\n    open(f'{i}', 'w').close()\nprint(sorted(os.listdir('.')))\nimport friend\nprint(friend.A)", files={"friend.py": "for i in [1]:\n    A = abs(i)"}),
    Row("numbers of numpy", """
        import numpy as np, random
        random.seed(0); np.random.seed(0); rng = np.random.default_rng(1)
        for i in range(3):
            print(random.random(), np.random.rand(2), rng.normal(), {str(j): j for j in range(i)})
        """),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=names(ROWS))
def test_tools_find_what_they_find_under_python(row: Row, tmp_path: Path) -> None:
    assert_same(row, tmp_path / "work")


def test_a_debugger_steps_out_of_a_loop_as_under_python(tmp_path: Path) -> None:
    script = """
        def f():
            for i in map(str, [1]):
                breakpoint()
                print(i)
                print("last")
            return i
        f()
        """
    assert_same(Row("steps", script, stdin="n\nn\nn\nn\nc\n"), tmp_path / "work")
