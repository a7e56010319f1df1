"""Loops and functions mean under `flor record` what they mean under `python`."""

# ruff: noqa: E501 (a small script is best on one line)

from __future__ import annotations

from pathlib import Path

import pytest
from bothways import Row, assert_same, names

ROWS = [
    Row("for else", """
        def f(items, stop):
            for x in items:
                if x == stop:
                    break
                print(x)
            else:
                print("else")
            return x
        print(f([1, 2, 3], 2), f([1, 2], 9))
        for x in ():
            print("never")
        else:
            print("empty else", "x" in globals())
        """),
    Row("while else", """
        n = 3
        while n:
            n -= 1
            print(n)
            if n == 7:
                break
        else:
            print("else")
        def f(n):
            while n:
                n -= 1
                if n == 1:
                    print("break")
                    break
            else:
                print("never")
        f(3)
        """),
    Row("break continue return in try finally", """
        def f(how):
            for i in range(4):
                try:
                    print(how, i)
                    if i == 1 and how == "continue":
                        continue
                    if i == 2 and how == "break":
                        break
                    if i == 2 and how == "return":
                        return "returned"
                    if i == 2 and how == "raise":
                        raise KeyError(i)
                except KeyError as error:
                    print("caught", error)
                    break
                else:
                    print("fine")
                finally:
                    print("finally", i)
                    for j in range(2):
                        print("inner", j)
                        if how == "swallow":
                            continue
            else:
                print("else")
            return "end"
        for how in ("continue", "break", "return", "raise", "swallow"):
            print(f(how))
        """, table="`break`, `continue`, `return` in `try`/`finally`"),
    Row("return in finally", """
        def f():
            while True:
                try:
                    raise ValueError
                finally:
                    for i in [1]:
                        return i
        print(f())
        """),
    Row("a walrus in a test", """
        import io
        text = io.StringIO("a\\nb\\n")
        while (line := text.readline()):
            print(repr(line))
        def f(stream):
            while (n := next(stream, None)) is not None and (m := n * 2) < 9:
                print(n, m)
            return n, m
        print(f(iter(range(9))), line)
        """),
    Row("match", """
        def f(items):
            for item in items:
                match item:
                    case [x, *rest] if rest:
                        for r in rest:
                            print(x, r)
                    case {"a": a}:
                        continue
                    case int():
                        return item
                    case _:
                        print("other")
        print(f([[1, 2, 3], {"a": 1}, "s", 7, 8]))
        """),
    Row("generators", """
        def g(n):
            for i in range(n):
                got = yield i
                while got:
                    got = yield got - 1
        it = g(3)
        print(next(it), it.send(3), it.send(2), list(it))
        def outer():
            for x in [1, 2]:
                r = yield from inner(x)
                print("r", r)
        def inner(x):
            try:
                for i in range(x):
                    yield i
                return x
            finally:
                print("closed", x)
        print(list(outer()))
        o = outer(); next(o); o.close()
        t = outer(); next(t)
        try:
            t.throw(KeyError("k"))
        except KeyError as e:
            print("thrown", e)
        for a in (b for b in g(2)):
            for c in g(a):
                print(a, c)
        """),
    Row("async", """
        import asyncio, contextlib
        async def agen(n):
            for i in range(n):
                await asyncio.sleep(0)
                yield i
        async def work(name, n):
            async for i in agen(n):
                print(name, i)
                for j in range(2):
                    await asyncio.sleep(0)
            else:
                print(name, "else")
            return [x async for x in agen(2)]
        async def main():
            while True:
                print(await asyncio.gather(work("a", 2), work("b", 3)))
                break
            async with asyncio.timeout(5), asyncio.TaskGroup() as group:
                for i in range(3):
                    group.create_task(work(i, 1))
        asyncio.run(main())
        for i in range(2):
            asyncio.run(main())
        """, table="asyncio, `async for`"),
    Row("nonlocal and global", """
        total = 0
        def f():
            count = 0
            def step(n):
                nonlocal count
                global total
                for i in range(n):
                    count += 1
                    total += i
                while count > 100:
                    count -= 1
            for n in range(4):
                step(n)
            return count
        print(f(), total, [(lambda: i)() for i in range(2)])
        fs = []
        for i in range(3):
            def g():
                for _ in [0]:
                    return i
            fs.append(g)
        print([g() for g in fs], f.__code__.co_freevars, f.__closure__, [c.co_name for c in f.__code__.co_consts if hasattr(c, "co_name")])
        """),
    Row("what the target is", """
        class A: pass
        a, d, l = A(), {}, [0, 0]
        for a.x in range(3): print(a.x)
        for d["k"] in range(2): print(d)
        for l[0], (l[1], *rest) in [(1, (2, 3, 4))]: print(l, rest)
        for i, in [(1,), (2,)]: print(i)
        for i in range(3): i = 9; print(i)
        for x in [1, 2]: pass
        print(x)
        for _ in range(2): print(_)
        del x
        """),
    Row("what is iterated over", """
        items = [1, 2, 3]
        for x in items:
            print(x)
            if x < 3: items.append(x + 2)
            if len(items) > 6: break
        d = {1: 2}
        try:
            for k in d:
                print(k)
                d[k + 1] = 0
        except RuntimeError as error:
            print(error)
        for x in range(10**30, 10**30 + 2): print(x)
        for x in reversed([1, 2]): print(x)
        for x in iter([3, 4]): print(x)
        for a, b in zip("ab", range(2)): print(a, b)
        for i, x in enumerate("ab", 5): print(i, x)
        for i, x in enumerate([7, 8], start=1): print(i, x)
        for x in {1: 2}.items(): print(x)
        for x in "str", b"by": print(x)
        for x in memoryview(b"ab"): print(x)
        for line in open(__file__): print(len(line)); break
        for x in iter(lambda c=[0]: c.append(0) or len(c), 4): print(x)
        it = iter(range(5))
        for x in it:
            print(x, next(it, None))
        e = enumerate([1, 2, 3])
        for i, x in e:
            print(i, x, next(e, None))
        r = range(5)
        for x in r:
            if x == 2: break
        print(x, list(r), list(it))
        for x in (y for y in [1]): print(x)
        class L(list):
            def __iter__(self): return iter("own")
        for x in L([1, 2]): print(x)
        """, table="what a loop iterates over"),
    Row("the iterator left after a break", """
        items = iter([1, 2, 3, 4, 5])
        for x in items:
            if x == 2: break
        print(next(items))
        def f(stream):
            for x in stream:
                return x
        g = (i for i in range(9))
        print(f(g), f(g), f(g), list(g))
        lst = [1, 2, 3, 4]
        for x in lst:
            print(x); lst.remove(x)
        big = list(range(5000))
        for x in big:
            if x == 3000: big.clear()
        print(x)
        for x in range(100000):
            if x == 77777: break
        print(x)
        """),
    Row("iterators are let go", """
        class G:
            def __init__(self): self.n = 0
            def __iter__(self): return self
            def __next__(self):
                self.n += 1
                if self.n > 2: raise StopIteration
                return self.n
            def __del__(self): print("gone", self.n)
        for x in G():
            print(x)
        print("after")
        def f():
            for x in G():
                return x
        print(f())
        def gen():
            try:
                while True:
                    yield 1
            finally:
                print("gen closed")
        for x in gen():
            break
        print("end")
        class Item:
            def __del__(self): print("item gone")
        def items():
            for _ in range(2):
                yield Item()
        for item in items():
            print("have")
            del item
            print("deleted")
        """, table="when iterators and items are freed"),
    Row("classes", """
        class A:
            for name in ("a", "b"):
                locals()[name] = name * 2
            while True:
                z = 1
                break
            def __init__(self, n):
                for self.i in range(n): self.__hidden = self.i
            def __iter__(self):
                for i in range(2): yield self.__hidden + i
            @property
            def p(self):
                for i in [5]: return i
            @staticmethod
            def s():
                while True: return super
            @classmethod
            def c(cls):
                for i in [1]: return cls.__name__
            def sup(self):
                for i in [1]: return super().__init__.__name__, __class__
        a = A(3)
        print(a.a, a.b, a.z, list(a), a.p, A.c(), a.sup(), A.__init__.__qualname__, A._A__hidden if hasattr(A, "_A__hidden") else vars(a))
        """),
    Row("decorators", """
        import functools
        def jit(f): print(f.__code__.co_names, f.__code__.co_consts); return f
        @jit
        def fast(n):
            for i in range(n): print(i)
        fast(2)
        def twice(f):
            @functools.wraps(f)
            def g(*a):
                for _ in range(2): r = f(*a)
                return r
            return g
        @twice
        def h(x, /, y=2, *z, k: int = 3, **kw) -> "str":
            '''Doc.'''
            for i in [x]: print(i)
        h(1)
        print(h.__name__, h.__doc__, h.__wrapped__.__defaults__, h.__wrapped__.__kwdefaults__, h.__annotations__)
        @functools.lru_cache
        def fib(n):
            for _ in [0]: return n if n < 2 else fib(n - 1) + fib(n - 2)
        print(fib(50), fib.cache_info())
        """, table="decorators that read code (numba) are left alone"),
    Row("exec and eval", """
        for i in range(2):
            exec("for j in range(2):\\n    print(i, j)")
            print(eval("[k for k in range(i)]"))
        ns = {}
        exec(compile("x = [n for n in range(3)]", "<made>", "exec"), ns)
        print(ns["x"], sorted(k for k in ns))
        """),
    Row("assertions and optimisation", "for i in [1]:\n    assert i == 1\nprint(__debug__)", python=("-O",)),
    Row("doubled loops in one line", "for i in range(2): print(i); print('x')\nwhile True: print('w'); break\nif 1: \n    for j in [1]: print(j)"),
    Row("loops in handlers", """
        import contextlib
        try:
            1 / 0
        except ZeroDivisionError as e:
            for i in range(2): print(i, e)
            else: print("else")
        with contextlib.suppress(KeyError):
            for i in range(2):
                raise KeyError
        print("e" in globals())
        """),
    Row("a deep nest", """
        def f(n):
            s = 0
            for a in range(n):
                for b in range(n):
                    while s < 10**6:
                        for c in [a, b]:
                            s += max(c, 1)
                            if s % 3 == 0: break
                        else:
                            continue
                        break
                    if s % 7 == 0: break
            return s
        print(f(4))
        """),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=names(ROWS))
def test_the_language_means_the_same(row: Row, tmp_path: Path) -> None:
    assert assert_same(row, tmp_path / "work").code == 0
