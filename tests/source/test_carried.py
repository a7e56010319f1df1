"""What an added statement hands on from one iteration to the next, and what it only seems to."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from flor.model.edits import Edit
from flor.source.probes import diff_sources

SCRIPT = dedent(
    """
    import copy, functools, itertools, random, time
    import numpy as np
    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x, y = torch.randn(8, 4), torch.randn(8, 4)
    history = []

    def say(text):
        print(text)
        with open("log.txt", "a") as file:
            file.write(text)

    def step(rows):
        loss = nn.functional.mse_loss(net(x[rows]), y[rows])
        # in step
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    # top
    for epoch in range(3):
        # begin
        for rows in torch.randperm(8).split(4):
            loss = step(rows)
            # inner
        # outer
        history.append(loss.item())
        say("epoch done")
    print(history)
    """
).lstrip()


def edited(**parts: str) -> Edit:
    """The script with statements added at its marks."""
    text = SCRIPT
    for mark in ("top", "begin", "in_step", "inner", "outer"):
        comment = f"# {mark.replace('_', ' ')}\n"
        line = next(line for line in text.splitlines(keepends=True) if line.strip() + "\n" == comment)
        depth = line[: len(line) - len(line.lstrip())]
        text = text.replace(line, indent(dedent(parts.get(mark, "")).strip() + "\n", depth) if mark in parts else "")
    plain = "".join(line for line in SCRIPT.splitlines(keepends=True) if not line.lstrip().startswith("# "))
    return diff_sources({"train.py": plain}, {"train.py": text})


CARRYING = {
    "a closure with nonlocal": {
        "top": """
            def make():
                best = 9.0
                def see(value):
                    nonlocal best
                    best = min(best, value)
                    return best
                return see
            best_of = make()
        """,
        "outer": "print(best_of(loss.item()))",
    },
    "a closure over a list": {
        "top": """
            def make():
                seen = []
                def see(value):
                    seen.append(value)
                    return len(seen)
                return see
            see = make()
        """,
        "inner": "print(see(loss.item()))",
    },
    "a cached function": {
        "top": """
            @functools.lru_cache(maxsize=None)
            def first(key):
                return time.time()
        """,
        "outer": "print(first('a'))",
    },
    "a function that is cached by a call": {
        "top": """
            def first(key):
                return loss.item()
            cached = functools.cache(first)
        """,
        "outer": "print(cached('a'))",
    },
    "a generator": {
        "top": """
            def count():
                number = 0
                while True:
                    yield number
                    number += 1
            numbers = count()
        """,
        "outer": "print(next(numbers))",
    },
    "a generator expression in a for": {
        "top": "numbers = (n * n for n in range(100))",
        "outer": "for n in numbers:\n    print(n)\n    break",
    },
    "an iterator in islice": {
        "top": "numbers = iter(range(100))",
        "outer": "print(list(itertools.islice(numbers, 2)))",
    },
    "itertools.count": {"top": "number = itertools.count()", "inner": "print(next(number))"},
    "itertools.cycle in zip": {"top": "colors = itertools.cycle('ab')", "outer": "print(list(zip(range(2), colors)))"},
    "a file that is read line by line": {"top": "lines = open('data.txt')", "outer": "print(lines.readline())"},
    "a mutable default": {
        "top": """
            def see(value, seen=[]):
                seen.append(value)
                return len(seen)
        """,
        "outer": "print(see(loss.item()))",
    },
    "an attribute of an added function": {
        "top": """
            def see(value):
                see.calls += 1
                return see.calls
            see.calls = 0
        """,
        "outer": "print(see(loss.item()))",
    },
    "a list of an added class": {
        "top": """
            class Seen:
                values = []
                def add(self, value):
                    self.values.append(value)
                    return len(self.values)
            seen = Seen()
        """,
        "outer": "print(seen.add(loss.item()))",
    },
    "a list of a class, filled when an object is made": {
        "top": """
            class Seen:
                values = []
                def __init__(self, value):
                    self.values.append(value)
        """,
        "outer": "print(len(Seen(loss.item()).values))",
    },
    "a counter of a class, in a classmethod": {
        "top": """
            class Seen:
                count = 0
                @classmethod
                def add(cls):
                    cls.count += 1
                    return cls.count
        """,
        "outer": "print(Seen.add())",
    },
    "a method whose name is that of a pure one": {
        "top": """
            class Mean:
                def __init__(self):
                    self.total, self.n = 0.0, 0
                def mean(self, value):
                    self.total += value
                    self.n += 1
                    return self.total / self.n
            running = Mean()
        """,
        "inner": "print(running.mean(loss.item()))",
    },
    "an object that is called": {
        "top": """
            class Mean:
                total = 0.0
                def __call__(self, value):
                    self.total += value
                    return self.total
            running = Mean()
        """,
        "inner": "print(running(loss.item()))",
    },
    "an iterator of an added class": {
        "top": """
            class Numbers:
                at = 0
                def __iter__(self):
                    return self
                def __next__(self):
                    self.at += 1
                    return self.at
            numbers = Numbers()
        """,
        "outer": "print(next(numbers))",
    },
    "a global counter": {
        "top": """
            calls = 0
            def tick():
                global calls
                calls += 1
                return calls
        """,
        "outer": "print(tick())",
    },
    "a global counter in a recorded function": {
        "top": "calls = 0",
        "in_step": "global calls\ncalls += 1\nprint(calls)",
    },
    "a global list in a recorded function": {
        "top": "seen = []",
        "in_step": "seen.append(loss.item())\nprint(len(seen))",
    },
    "a global iterator in a recorded function": {"top": "number = itertools.count()", "in_step": "print(next(number))"},
    "the value before": {
        "top": "previous = None",
        "outer": "print(previous)\nprevious = net[0].weight.detach().clone()",
    },
    "the value before, in a dictionary": {"top": "last = {}", "outer": "print(last.get('w'))\nlast['w'] = loss.item()"},
    "a set": {"top": "seen = set()", "outer": "seen.add(round(loss.item(), 1))\nprint(len(seen))"},
    "a deque": {
        "top": "from collections import deque\nwindow = deque(maxlen=3)",
        "inner": "window.append(loss.item())\nprint(sum(window))",
    },
    "a defaultdict that numbers its keys": {
        "top": "from collections import defaultdict\nids = defaultdict(itertools.count().__next__)",
        "outer": "print(ids[epoch])",
    },
    "a queue": {
        "top": "import queue\nwaiting = queue.Queue()\nwaiting.put(1)\nwaiting.put(2)",
        "outer": "print(waiting.get())",
    },
    "a metric of a library": {
        "top": "import torchmetrics\nmean = torchmetrics.MeanMetric()",
        "inner": "mean.update(loss)\nprint(mean.compute())",
    },
    "a random generator of its own": {"top": "dice = random.Random(1)", "outer": "print(dice.random())"},
    "a torch generator of its own": {
        "top": "dice = torch.Generator()",
        "outer": "print(torch.randn(1, generator=dice))",
    },
    "a copy of the model that is trained": {
        "top": "shadow = copy.deepcopy(net)\nown = torch.optim.SGD(shadow.parameters(), lr=0.1)",
        "outer": """
            own.zero_grad()
            shadow(x).sum().backward()
            own.step()
            print(shadow[0].weight.norm())
        """,
    },
    "an average of weights": {
        "top": "ema = net[0].weight.detach().clone()",
        "inner": "ema.mul_(0.9).add_(net[0].weight.detach(), alpha=0.1)\nprint(ema.norm())",
    },
    "a helper that calls one that counts": {
        "top": """
            seen = []
            def note(value):
                seen.append(value)
            def tell(value):
                note(value)
                print(len(seen))
        """,
        "inner": "tell(loss.item())",
    },
    "a file that is written and read": {
        "outer": """
            print(torch.load('before.pt').norm() if epoch else 0)
            torch.save(net[0].weight.detach(), 'before.pt')
        """,
    },
    "a context manager that counts": {
        "top": """
            import contextlib
            entered = []
            @contextlib.contextmanager
            def watching():
                entered.append(1)
                yield len(entered)
        """,
        "outer": "with watching() as n:\n    print(n)",
    },
}

NOT_CARRYING = {
    "a plain helper": {
        "top": "def norm(model):\n    return sum(p.norm().item() for p in model.parameters())",
        "inner": "print(norm(net))",
    },
    "a helper with a constant default": {
        "top": "def near(value, digits=3):\n    return round(value, digits)",
        "inner": "print(near(loss.item()))",
    },
    "a helper that calls a helper": {
        "top": """
            def norm(p):
                return p.norm().item()
            def norms(model):
                return [norm(p) for p in model.parameters()]
        """,
        "inner": "print(norms(net))",
    },
    "a helper under no_grad": {
        "top": "@torch.no_grad()\ndef error():\n    return (net(x) - y).norm().item()",
        "outer": "print(error())",
    },
    "a helper that fills a list of its own": {
        "top": """
            def norms(model):
                found = []
                for p in model.parameters():
                    found.append(p.norm().item())
                return found
        """,
        "outer": "print(norms(net))",
    },
    "a lambda": {"top": "norm = lambda p: p.norm().item()", "outer": "print(norm(net[0].weight))"},
    "an import": {"top": "import math", "outer": "print(math.sqrt(loss.item()))"},
    "a constant": {"top": "every = 2", "outer": "if epoch % every == 0:\n    print(loss.item())"},
    "a table of constants": {
        "top": "names = {0: 'first', 1: 'second', 2: 'third'}",
        "outer": "print(names[epoch], names.get(epoch))",
    },
    "weights before training": {
        "top": "start = net[0].weight.detach().clone()",
        "outer": "print((net[0].weight - start).norm().item())",
    },
    "a value made and used in the same iteration": {
        "outer": "now = net[0].weight.detach().clone()\nnow.mul_(2)\nprint(now.norm())"
    },
    "a list made and used in the same iteration": {
        "outer": "found = []\nfor p in net.parameters():\n    found.append(p.norm())\nprint(found)"
    },
    "an object made and used in the same iteration": {
        "top": "from types import SimpleNamespace",
        "outer": "facts = SimpleNamespace()\nfacts.loss = loss.item()\nprint(facts)",
    },
    "a copy of the model in the same iteration": {
        "outer": "shadow = copy.deepcopy(net)\nshadow.eval()\nprint(shadow(x).norm().item())"
    },
    "with no_grad": {"outer": "with torch.no_grad():\n    print(net[0].weight.norm())"},
    "a generator made and used in the same iteration": {
        "top": "def norms():\n    for p in net.parameters():\n        yield p.norm().item()",
        "outer": "print(list(norms()))",
    },
    "a writer": {
        "top": "from torch.utils.tensorboard import SummaryWriter\nwriter = SummaryWriter()",
        "outer": "writer.add_scalar('loss', loss.item(), epoch)",
    },
    "a logger": {"top": "import logging\nlogger = logging.getLogger('a')", "outer": "logger.info('%s', loss.item())"},
    "a partial of print": {"top": "tell = functools.partial(print, flush=True)", "outer": "tell(loss.item())"},
    "a plain class": {
        "top": """
            class Norm:
                def __init__(self, model):
                    self.model = model
                def __call__(self):
                    return self.model[0].weight.norm().item()
            norm = Norm(net)
        """,
        "outer": "print(norm())",
    },
    "a file that is only written": {
        "top": "out = open('probe.txt', 'w')",
        "outer": "out.write(f'{loss.item()}')\nprint(loss.item(), file=out)",
    },
    "a helper of the script": {"outer": "say(f'loss {loss.item()}')"},
    "random numbers that are given back": {
        "outer": """
            state = torch.get_rng_state()
            print(torch.randn(2))
            torch.set_rng_state(state)
        """
    },
    "random numbers of Python that are given back": {
        "inner": """
            state = random.getstate()
            print(random.random())
            random.setstate(state)
        """
    },
}


@pytest.mark.parametrize("kind", CARRYING)
def test_what_holds_state_across_iterations_is_carried(kind: str) -> None:
    edit = edited(**CARRYING[kind])
    assert any(probe.carries for probe in edit.probes), edit


@pytest.mark.parametrize("kind", NOT_CARRYING)
def test_what_holds_none_is_not_carried(kind: str) -> None:
    edit = edited(**NOT_CARRYING[kind])
    assert not any(probe.carries for probe in edit.probes), [probe.carries for probe in edit.probes]


@pytest.mark.parametrize("kind", {**CARRYING, **NOT_CARRYING})
def test_what_touches_only_the_probes_own_objects_is_accepted(kind: str) -> None:
    edit = edited(**{**CARRYING, **NOT_CARRYING}[kind])
    refused = [doubt for probe in edit.probes for doubt in probe.doubts if doubt.level == "certain"]
    assert (edit.others, refused) == ((), [])


REFUSED = {
    "a default of a lambda that is filled": {
        "top": "see = lambda value, seen=[]: (seen.append(value), len(seen))",
        "outer": "print(see(loss.item()))",
    },
    "a list of the script that an added class fills": {
        "top": """
            class Seen:
                def __init__(self, values):
                    self.values = values
                def add(self, value):
                    self.values.append(value)
            seen = Seen(history)
        """,
        "outer": "seen.add(1)\nprint(len(history))",
    },
    "a list of the script in place of a default": {
        "top": """
            def see(value, seen=[]):
                seen.append(value)
                return len(seen)
        """,
        "outer": "print(see(1, history))",
    },
    "another name of the model": {"outer": "same = net\nsame.eval()\nprint(same(x))"},
    "gradients of the model through a name of the probe's": {
        "outer": "error = (net(x) - y).pow(2).mean()\nerror.backward()\nprint(error)"
    },
    "an optimizer of the probe's for the model": {
        "top": "own = torch.optim.SGD(net.parameters(), lr=0.1)",
        "outer": "own.step()\nprint(loss)",
    },
    "random numbers of another generator than that which is given back": {
        "outer": "state = torch.get_rng_state()\nprint(random.random())\ntorch.set_rng_state(state)"
    },
    "names put into globals()": {"outer": "globals()['seen'] = globals().get('seen', 0) + 1\nprint(seen)"},
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_changes_objects_of_the_script_is_refused(kind: str) -> None:
    edit = edited(**REFUSED[kind])
    assert edit.others or any(probe.refused for probe in edit.probes)
