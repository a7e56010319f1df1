"""Random training programs as source text, from a seed; each with probes that can be added to it."""

from __future__ import annotations

import ast
import random
from dataclasses import dataclass
from textwrap import dedent, indent

from ideas import IDIOMATIC, MODELS, WILD, Idea, named

IMPORTS = """
import argparse, array, collections, copy, dataclasses, datetime, enum, functools, hashlib, heapq, io, itertools
import random, types, weakref
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from tqdm import tqdm
import flor
"""

# Without loops of its own: there would be checkpoints in it, and it is not what is tested.
DIGEST = """
def raw(v):
    return v.detach().contiguous().numpy().tobytes() if isinstance(v, torch.Tensor) else repr(v).encode()
def digest(model, opt):
    parts = [name.encode() + raw(v) for name, v in sorted(model.state_dict().items())]
    parts += [str([m.training for m in model.modules()]).encode()]
    parts += [repr([(k, v) for k, v in group.items() if k != 'params']).encode() for group in opt.param_groups]
    held = [p for group in opt.param_groups for p in group['params']]
    parts += [raw(p.grad) for p in held] + [k.encode() + raw(v) for p in held for k, v in opt.state.get(p, {}).items()]
    return hashlib.sha1(b''.join(parts)).hexdigest()[:12]
"""

OPTIMIZERS = (
    "torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)",
    "torch.optim.SGD(model.parameters(), lr=0.1)",
    "torch.optim.Adam(model.parameters(), lr=0.02)",
    "torch.optim.AdamW(model.parameters(), lr=0.02, amsgrad=True)",
    "torch.optim.Adam(model.parameters(), lr=0.01, fused=True)",
    "torch.optim.RMSprop(model.parameters(), lr=0.01, centered=True)",
    "torch.optim.Adagrad(model.parameters(), lr=0.05)",
    "torch.optim.SGD([{'params': list(model.parameters())[:2], 'lr': 0.05}, {'params': list(model.parameters())[2:]}],"
    " lr=0.1, momentum=0.8, nesterov=True)",
)

DATA = "X = torch.randn(24, 4)\nY = torch.randint(0, 3, (24,))"

INNER = {
    "loader": (
        "loader = DataLoader(TensorDataset(X, Y), batch_size=8, shuffle=True)",
        "for i, (x, y) in enumerate(loader):",
    ),
    "seeded loader": (
        "seeded = torch.Generator().manual_seed(3)\n"
        "loader = DataLoader(TensorDataset(X, Y), batch_size=8, shuffle=True, generator=seeded)",
        "for i, (x, y) in enumerate(tqdm(loader, disable=True)):",
    ),
    "noisy dataset": (
        "loader = DataLoader(Noisy(X, Y), batch_size=8, shuffle=True)",
        "for i, (x, y) in enumerate(loader):",
    ),
    "permutation": ("", "for i, index in enumerate(torch.randperm(24).split(8)):\n    x, y = X[index], Y[index]"),
    "numpy order": (
        "indices = np.arange(24)",
        "np.random.shuffle(indices)\nfor i in range(3):\n"
        "    part = indices[i * 8:(i + 1) * 8]\n    x, y = X[part], Y[part]",
    ),
    "while": ("", "i = -1\nwhile i < 2:\n    i += 1\n    x, y = X[i * 8:(i + 1) * 8], Y[i * 8:(i + 1) * 8]"),
    "infinite": (
        "loader = DataLoader(TensorDataset(X, Y), batch_size=8, shuffle=True)\nbatches_left = iter(loader)",
        "for i in range(4):\n    try:\n        x, y = next(batches_left)\n    except StopIteration:\n"
        "        batches_left = iter(loader)\n        x, y = next(batches_left)",
    ),
}
NOISY = (
    "class Noisy(torch.utils.data.Dataset):\n    def __init__(self, X, Y):\n        self.X, self.Y = X, Y\n"
    "    def __len__(self):\n        return len(self.X)\n    def __getitem__(self, k):\n"
    "        return self.X[k] + 0.1 * torch.randn(4), self.Y[k]"
)

STEPS = "steps = DataLoader(Noisy(X, Y), batch_size=6, shuffle=True)"
OUTER = ("range", "while", "count", "enumerate", "tqdm", "true")
WILD_OUTER = (*OUTER, "generator", "iterator", "zip", "batches")
HEADERS = {
    "range": "for epoch in range(4):",
    "while": "epoch = -1\nwhile epoch < 3:\n    epoch += 1",
    "count": "for epoch in itertools.count():\n    if epoch == 4:\n        break",
    "enumerate": "for epoch, mode in enumerate(['warm', 'main', 'main', 'cool']):\n    print(mode)",
    "tqdm": "for epoch in tqdm(range(4), disable=True):",
    "true": "epoch = -1\nwhile True:\n    epoch += 1\n    if epoch > 3:\n        break",
    "generator": "for epoch in (e for e in range(4)):",
    "iterator": "for epoch in iter([0, 1, 2, 3]):",
    "batches": "for epoch, (bx, by) in enumerate(steps):\n    print('batch', bx.sum().item())",
    "zip": "for epoch, letter in zip(range(4), 'abcdef'):\n    print(letter)",
}
CONFLICTS = ("add group", {"step lr", "cosine", "plateau", "reuse state"})
FLOWS = (
    "if i == 1 and epoch % 2:\n    continue",
    "if total > 3.0 and i:\n    break",
    "if random.random() < 0.15:\n    continue",
    "if i > 1 and epoch == 1:\n    break",
)
STRUCTURES = ("flat", "main", "globals", "fit", "closure", "class", "folds")

# Each is an `if PROBE:` that is replaced by its body, or taken out.
PROBES = {
    "inner": (
        "print('probe', epoch, i, loss.item())",
        "flor.log('grads', [p.grad.norm().item() for p in model.parameters() if p.grad is not None])",
        "if i % 2 == 0:\n    print('even', i, out.detach().abs().max().item())",
        "for nth, weight in enumerate(model.parameters()):\n    print('norm', nth, weight.detach().norm().item())",
        "with torch.no_grad():\n    ratio = (out.detach() ** 2).mean().item()\nflor.log('ratio', ratio)",
        "flor.log('x', x)",
    ),
    "outer": (
        "print('outer', epoch, [round(p.detach().sum().item(), 9) for p in model.parameters()])",
        "flor.log('value', value)",
        "print('lr now', opt.param_groups[0]['lr'], len(opt.state))",
        "if epoch % 2:\n    print('odd', value)",
    ),
    "begin": ("print('begin', epoch, next(model.parameters()).detach().mean().item())",),
    "final": (
        "print('after all', sum(p.detach().double().sum().item() for p in model.parameters()))",
        "flor.log('weights', next(model.parameters()).detach().clone())",
    ),
}

# Names that the program may have for itself.
IMPOLITE = ("for k, p in enumerate(model.parameters()):\n    print('weight', k, p.detach().sum().item())",)


@dataclass(frozen=True)
class Program:
    """A program with places for probes."""

    seed: int
    family: str
    ideas: tuple[str, ...]
    shape: tuple[str, ...]
    tree: ast.Module

    def text(self, *probes: int) -> str:
        """The source with these of its probes in it."""
        choose = _Choose(frozenset(probes))
        return ast.unparse(ast.fix_missing_locations(choose.visit(ast.parse(ast.unparse(self.tree))))) + "\n"

    @property
    def probes(self) -> int:
        """How many probes it has places for."""
        return sum(isinstance(node, ast.If) and _is_probe(node) for node in ast.walk(self.tree))

    def some_probes(self) -> tuple[int, ...]:
        """One to three of them."""
        chance = random.Random(self.seed)
        return tuple(chance.sample(range(self.probes), min(self.probes, chance.choice((1, 1, 2, 3)))))


def generate(seed: int, family: str = "idiomatic") -> Program:
    """The program of a seed."""
    return _Writer(random.Random(f"{family} {seed}"), seed, family).program()


def compose(structure: str, outer: str, inner: str, model: str, *ideas: str) -> Program:
    """A program of chosen parts."""
    writer = _Writer(random.Random(1), 1, "wild")
    writer.structure, writer.outer, writer.inner, writer.model = structure, outer, inner, model
    writer.optimizer, writer.ideas = OPTIMIZERS[0], named(*ideas)
    return writer.program()


class _Writer:
    """Chooses the parts of one program and puts them together."""

    def __init__(self, chance: random.Random, seed: int, family: str) -> None:
        self.chance, self.seed, self.family = chance, seed, family
        wild = family == "wild"
        self.structure = chance.choice(STRUCTURES)
        self.inner = chance.choice(list(INNER))
        self.outer = chance.choice(WILD_OUTER if wild else OUTER)
        self.model = chance.choice(list(MODELS))
        self.optimizer = chance.choice(OPTIMIZERS)
        ideas = list(IDIOMATIC) + (list(WILD) * 2 if wild else [])
        count = chance.randrange(4, 9) if wild else chance.randrange(2, 6)
        self.drawn = list(dict.fromkeys(chance.sample(ideas, count)))
        self.ideas = [idea for idea in self.drawn if self._fits(idea)]

    def _fits(self, idea: Idea) -> bool:
        if idea.inline and self.structure not in ("flat", "main", "folds"):
            return False
        alone, others = CONFLICTS
        return idea.name != alone or not others & {other.name for other in self.drawn}

    def program(self) -> Program:
        """All of it."""
        ways = {"flat": self._flat, "main": self._main, "folds": self._folds, "class": self._class}
        build = ways.get(self.structure, self._functions)
        tree = ast.parse("\n".join([IMPORTS, DIGEST, self._top(), self._seeds(), build()]))
        shape = (self.structure, self.outer, self.inner, self.model)
        return Program(self.seed, self.family, tuple(idea.name for idea in self.ideas), shape, tree)

    # -- the parts -----------------------------------------------------------------------------------

    def _seeds(self) -> str:
        return f"random.seed({self.seed})\nnp.random.seed({self.seed})\ntorch.manual_seed({self.seed})"

    def _top(self) -> str:
        noisy = NOISY if self.inner == "noisy dataset" or self.outer == "batches" else ""
        return "\n".join([noisy, MODELS[self.model].top, *(idea.top for idea in self.ideas)])

    def _setup(self) -> str:
        optimizer = f"opt = {self.optimizer}"
        own = [DATA, MODELS[self.model].setup, optimizer, INNER[self.inner][0]]
        own += [STEPS] if self.outer == "batches" else []
        return "\n".join([*own, *(idea.setup for idea in self.ideas)])

    def _inner_loop(self) -> str:
        body = [self.chance.choice(FLOWS)] if self.chance.random() < 0.4 else []
        body += ["out = model(x)", "loss = nn.functional.cross_entropy(out, y)", "opt.zero_grad()", "loss.backward()"]
        body += [self._probe("inner"), "opt.step()", "total += loss.item()", "n += 1"]
        body += [idea.inner for idea in self.ideas] + [self._probe("inner")]
        header = INNER[self.inner][1]
        return f"total, n = 0.0, 0\n{header}\n" + indent("\n".join(body), "    ")

    def _outer_loop(self, inner: str) -> str:
        body = [self._probe("begin"), *(idea.outer for idea in self.ideas), inner]
        body += [idea.after for idea in self.ideas] + [self._probe("outer")]
        body.append(
            "print('epoch', epoch, value, digest(model, opt))" if self.chance.random() < 0.5 else "print(epoch, value)"
        )
        return f"{HEADERS[self.outer]}\n" + indent("\n".join(body), "    ")

    def _final(self) -> str:
        ends = [idea.final for idea in self.ideas]
        ends += ["print('end', digest(model, opt), random.random(), np.random.rand(), torch.rand(1).item())"]
        return "\n".join([*ends, self._probe("final")])

    def _probe(self, place: str) -> str:
        choices = PROBES[place] + (IMPOLITE if self.family == "wild" else ())
        return "if PROBE:\n" + indent(self.chance.choice(choices), "    ")

    # -- how they are put together --------------------------------------------------------------------

    def _inline(self) -> str:
        return f"{self._inner_loop()}\nvalue = total / max(n, 1)"

    def _flat(self) -> str:
        return "\n".join([self._setup(), self._outer_loop(self._inline()), self._final()])

    def _folds(self) -> str:
        """Everything twice, from new weights."""
        body = "\n".join(["print('fold', fold)", self._setup(), self._outer_loop(self._inline())])
        return f"for fold in range(2):\n{indent(body, '    ')}\n{self._final()}"

    def _main(self) -> str:
        return f"def main():\n{indent(self._flat(), '    ')}\nmain()"

    def _functions(self) -> str:
        """`globals` and `fit` have their state in the module, `closure` in a function around the one that trains."""
        setup, state = self._state()
        word = "nonlocal" if self.structure == "closure" else "global"
        train = _function("train_epoch(epoch)", f"{self._inner_loop()}\nreturn total / max(n, 1)", word, state)
        loops = self._outer_loop("value = train_epoch(epoch)")
        if self.structure == "globals":
            return "\n".join([setup, train, loops, self._final()])
        if self.structure == "fit":
            return "\n".join([setup, train, _function("fit()", loops, "global", state), "fit()", self._final()])
        return _function("main()", "\n".join([setup, train, loops, self._final()]), "", set()) + "\nmain()"

    def _class(self) -> str:
        setup, state = self._state()
        methods = {
            "__init__(self)": setup,
            "train_epoch(self, epoch)": f"{self._inner_loop()}\nreturn total / max(n, 1)",
            "fit(self)": self._outer_loop("value = self.train_epoch(epoch)"),
            "report(self)": self._final(),
        }
        own = _Own(state)
        texts = [
            _function(head, ast.unparse(own.visit(ast.parse(dedent(body)))), "", set())
            for head, body in methods.items()
        ]
        return (
            "class Trainer:\n"
            + indent("\n".join(texts), "    ")
            + "\ntrainer = Trainer()\ntrainer.fit()\ntrainer.report()"
        )

    def _state(self) -> tuple[str, set[str]]:
        setup = self._setup()
        return setup, bound(setup)


def bound(text: str) -> set[str]:
    """The names that a piece of source binds, not counting those of comprehensions and lambdas."""
    found: set[str] = set()
    todo: list[ast.AST] = [ast.parse(dedent(text))]
    inner = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda, ast.FunctionDef, ast.ClassDef)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        todo.extend(child for child in ast.iter_child_nodes(node) if not isinstance(child, inner))
    return found


def _function(head: str, body: str, word: str, state: set[str]) -> str:
    """A function that declares the names of the program's state that it binds."""
    declared = sorted(bound(body) & state)
    lines = f"{word} {', '.join(declared)}\n" if declared and word else ""
    return f"def {head}:\n" + indent(lines + body, "    ")


class _Own(ast.NodeTransformer):
    """The program's state as attributes of `self`."""

    def __init__(self, state: set[str]) -> None:
        self.state = state

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """A name of the state."""
        return ast.Attribute(ast.Name("self", ast.Load()), node.id, node.ctx) if node.id in self.state else node


def _is_probe(node: ast.If) -> bool:
    return isinstance(node.test, ast.Name) and node.test.id == "PROBE"


class _Choose(ast.NodeTransformer):
    """Some of the probes in, the others out; they are numbered in the order of the source."""

    def __init__(self, chosen: frozenset[int]) -> None:
        self.chosen, self.number = chosen, -1

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        """A probe, or any other `if`."""
        if not _is_probe(node):
            return self.generic_visit(node)
        self.number += 1
        return node.body if self.number in self.chosen else []
