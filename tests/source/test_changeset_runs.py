"""Programs that are run: what a loop really changes can be reached from the names in its changeset."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Iterable
from textwrap import dedent
from types import FunctionType, ModuleType

import pytest

from flor.source.blocks import find_loops
from flor.source.changeset import changed_names
from flor.source.effects import summarize

PROGRAMS = {
    "scalars": """
        total, best, n = 0, 0, 5
        while n:
            total += n
            if total > best: best = total
            n -= 1
        """,
    "an alias made in the loop": """
        rows = [[1], [2]]
        for row in rows:
            same = row
            same.append(0)
        """,
    "an alias made before the loop": """
        rows = [[1], [2]]
        first = rows[0]
        for i in range(2):
            first.append(i)
        """,
    "an alias made before the loop of a name that the loop rebinds": """
        rows = [[1], [2]]
        first = rows[0]
        for i in range(2):
            if first: first.append(i)
            first = None
        """,
    "a name that the loop rebinds, with an alias made before": """
        rows = [[1], [2]]
        first = rows[0]
        for i in range(2):
            if rows: rows[0].append(i)
            rows = None
        """,
    "a chain of names that the loop rebinds": """
        a = [1]
        b = a
        c = b
        for i in range(2):
            if c: c.append(i)
            b = c = None
        """,
    "a temporary container": """
        row, other = [1], [2]
        for i in range(2):
            bag = []
            bag.append(row)
            bag[0].append(i)
            bag = None
        """,
    "a temporary object": """
        class Box: pass
        row = [1]
        for i in range(2):
            box = Box()
            box.inner = row
            box.inner.append(i)
            box = None
        """,
    "a function that changes its argument": """
        def push(rows, x): rows.append(x)
        def twice(rows, x):
            push(rows, x)
            push(x=x, rows=rows)
        data, untouched = [], []
        for i in range(3): twice(data, i)
        """,
    "recursion": """
        def walk(rows, n):
            if n == 0: rows.append(n)
            else: other(n - 1, rows)
        def other(n, rows): walk(rows, n)
        data = []
        for i in range(3): walk(data, i)
        """,
    "star arguments": """
        def push(*many, **words): many[1].append(1); words['to'].append(2)
        a, b, c = [], [], []
        for i in range(3): push(*(a, b), **{'to': c})
        """,
    "a global through a chain of calls": """
        count, log = 0, []
        def inner():
            global count
            count += 1
            log.append(count)
        def outer(): inner()
        for i in range(3): outer()
        """,
    "a function that returns a global": """
        state = {}
        def get(): return state
        for i in range(3): get()['x'] = i
        """,
    "a function that returns its argument": """
        def same(x): return x
        rows = []
        for i in range(3):
            r = same(rows)
            r.append(i)
        """,
    "a callback": """
        seen = []
        def note(x): seen.append(x)
        for i in range(3): list(map(note, [i]))
        """,
    "a callback kept in a dict": """
        seen = []
        def note(x): seen.append(x)
        table = {'n': note}
        for i in range(3): table['n'](i)
        """,
    "a lambda made before": """
        seen = []
        note = lambda x: seen.append(x)
        for i in range(3): note(i)
        """,
    "a default argument": """
        def note(x, seen=[]):
            seen.append(x)
            return seen
        kept = note(0)
        for i in range(3): kept = note(i)
        """,
    "a method on self": """
        class Meter:
            def __init__(self): self.n = 0
            def up(self): self.n += 1
            def twice(self): self.up(); self.up()
        meter = Meter()
        for i in range(3): meter.twice()
        """,
    "a method through the class": """
        class Meter:
            def __init__(self): self.n = 0
            def up(self): self.n += 1
        meter = Meter()
        for i in range(3): Meter.up(meter)
        """,
    "an inherited method": """
        class A:
            def up(self): self.n = getattr(self, 'n', 0) + 1
        class B(A):
            def twice(self): super().up(); self.up()
        b = B()
        for i in range(3): b.twice()
        """,
    "an overriding method": """
        class A:
            def up(self): pass
            def go(self): self.up()
        class B(A):
            def up(self): self.n = getattr(self, 'n', 0) + 1
        b = B()
        for i in range(3): b.go()
        """,
    "a property that counts": """
        class Meter:
            n = 0
            @property
            def value(self):
                self.n = self.n + 1
                return self.n
        meter = Meter()
        for i in range(3): x = meter.value
        """,
    "an item access that counts": """
        class Rows:
            def __init__(self): self.n = 0
            def __getitem__(self, i):
                self.n += 1
                return i
        rows = Rows()
        for i in range(3): x = rows[i]
        """,
    "an operator that changes": """
        class Bag:
            def __init__(self): self.items = []
            def __lshift__(self, x): self.items.append(x)
            def __add__(self, x): self.items.append(x); return self
        bag = Bag()
        for i in range(3): x = bag + i
        """,
    "a context manager of the project": """
        class Timer:
            def __init__(self): self.n = 0
            def __enter__(self): self.n += 1; return self
            def __exit__(self, *e): pass
        timer = Timer()
        for i in range(3):
            with timer: pass
        """,
    "an iterator that is used up": """
        it = iter([1, 2, 3, 4])
        for x in it:
            if x == 2: break
        """,
    "two iterators zipped": """
        a, b = iter([1, 2, 3]), [1, 2]
        for x, y in zip(b, a): pass
        """,
    "a generator of the project": """
        made = []
        def produce():
            for i in range(3):
                made.append(i)
                yield i
        source = produce()
        for x in source: pass
        source = None
        """,
    "a comprehension with effects": """
        rows, seen = [[1], [2]], []
        for i in range(2):
            [row.append(i) for row in rows]
            {seen.append(k): v for k, v in {'a': 1}.items()}
        """,
    "a walrus in a comprehension": """
        last = 0
        for i in range(3): y = [(last := j) for j in range(i)]
        """,
    "a class attribute": """
        class Config: rate = 1
        for i in range(3): Config.rate = i
        shown = Config.rate
        """,
    "an attribute set by name": """
        class Box: pass
        box = Box()
        for i in range(3): setattr(box, 'x', i)
        """,
    "a sort with a key": """
        rows, seen = [3, 1, 2], []
        def key(x):
            seen.append(x)
            return x
        for i in range(2): rows.sort(key=key)
        """,
    "a nested function with nonlocal": """
        def make():
            n = [0]
            def up(): n[0] += 1
            return up, n
        up, n = make()
        for i in range(3): up()
        """,
    "match captures": """
        last, rest = None, None
        for row in [[1, 2, 3], [4]]:
            match row:
                case [first, *rest]: last = first
        """,
    "a swap": """
        a, b = [1], [2]
        for i in range(3):
            a, b = b, a
            a.append(i)
        """,
    "del and exceptions": """
        rows = {'a': 1, 'b': 2}
        error = None
        for key in ['a', 'c']:
            try:
                del rows[key]
            except KeyError as e:
                error = str(e)
        """,
}


def graph(roots: Iterable[object]) -> dict[int, object]:
    """Every object that can be reached and could change, by its id."""
    found: dict[int, object] = {}
    todo = list(roots)
    while todo:
        value = todo.pop()
        if id(value) not in found and not isinstance(value, int | str | ModuleType | None):
            found[id(value)] = value
            todo.extend(parts(value).values())
    return found


def parts(value: object) -> dict[object, object]:
    """What an object holds itself."""
    if isinstance(value, list | tuple):
        return dict(enumerate(value))
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        return dict(enumerate([*cells, *(value.__defaults__ or ())]))
    if type(value).__name__ in ("list_iterator", "zip"):
        return {"state": pickle.dumps(value).hex()}
    own = {key: each for key, each in getattr(value, "__dict__", {}).items() if not key.startswith("__")}
    return {**own, "bound": getattr(value, "__self__", None)}


def shape(value: object) -> dict[object, object]:
    """The parts by value if they cannot change, by identity if they can."""
    return {key: each if isinstance(each, int | str | None) else id(each) for key, each in parts(value).items()}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_really_changes_is_bound_to_or_reached_from_a_name_in_the_changeset(name: str) -> None:
    tree = ast.parse(dedent(PROGRAMS[name]))
    loop = next(loop for loop in find_loops(tree, "t.py") if loop.function == "<module>")
    at = tree.body.index(loop.node)
    world: dict[str, object] = {"__name__": "t"}
    exec(compile(ast.Module(tree.body[:at], []), "t.py", "exec"), world)
    names = dict(world)
    before = graph(names.values())
    shapes = {each: shape(value) for each, value in before.items()}
    exec(compile(ast.Module([loop.node], []), "t.py", "exec"), world)
    said = changed_names(loop, summarize({"t.py": tree}))
    rebound = {
        each for each in names.keys() | world.keys() if shape({0: names.get(each)}) != shape({0: world.get(each)})
    }
    assert rebound - {"__builtins__"} <= set(said)
    alive = graph(value for each, value in world.items() if each != "__builtins__")
    changed = {each for each in alive if each in before and shape(before[each]) != shapes[each]}
    assert changed <= set(graph(world[each] for each in said if each in world)), [before[each] for each in changed]
    assert rebound | changed, "the program changes nothing"
