"""Training loops that live in libraries: which functions have them, and what of such a file is looked at."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

from flor.source.bindings import Function

Functions = Mapping[str, Mapping[str, str]]
"""Functions by qualified name, each with what its loops are called where that is not their own name."""

_FIT: Functions = {"_FitLoop.run": {"while": "epoch"}}
_EPOCH: Functions = {"_TrainingEpochLoop.run": {"while": "step"}}
_TRAINER: Functions = {"Trainer._inner_training_loop": {}, "Trainer._run_epoch": {"update_step": "step", "i": "batch"}}

LIBRARIES: Mapping[str, Functions] = {
    "transformers/trainer.py": _TRAINER,
    "lightning/pytorch/loops/fit_loop.py": _FIT,
    "lightning/pytorch/loops/training_epoch_loop.py": _EPOCH,
    "pytorch_lightning/loops/fit_loop.py": _FIT,
    "pytorch_lightning/loops/training_epoch_loop.py": _EPOCH,
}
"""Files by their place among the installed packages: only loops that go over epochs or batches of a training."""

FRAMEWORKS = frozenset(
    {file.partition("/")[0] for file in LIBRARIES} | {"accelerate", "lightning_fabric", "lightning_utilities"}
)
"""Packages that train: what they give to `logging` are the training's values."""


def functions_of(file: str) -> AbstractSet[str]:
    """The functions of a library's file whose loops are watched."""
    return LIBRARIES.get(file, {}).keys()


def shown_name(file: str, function: str, name: str) -> str:
    """What a loop is called in positions."""
    return LIBRARIES.get(file, {}).get(function, {}).get(name, name)


def package_of(file: str) -> str:
    """The package that the file belongs to."""
    return file.partition("/")[0]


def watched(tree: ast.Module, file: str) -> ast.Module:
    """A tree of the watched functions and the classes around them; its functions are those of the given tree."""
    return ast.Module(list(_parts(tree.body, "", functions_of(file))), [])


def excerpt(text: str, part: ast.Module) -> str:
    """The text of the watched functions with every line where it was; all other lines are empty."""
    kept = set(_lines(part.body))
    lines = text.split("\n")[: max(kept, default=0)]
    return "".join(f"{line if number in kept else ''}\n" for number, line in enumerate(lines, 1))


def _parts(body: Iterable[ast.stmt], around: str, wanted: AbstractSet[str]) -> Iterator[ast.stmt]:
    for statement in body:
        name = f"{around}{getattr(statement, 'name', '')}"
        if isinstance(statement, Function) and name in wanted:
            yield statement
        elif isinstance(statement, ast.ClassDef) and (inside := list(_parts(statement.body, f"{name}.", wanted))):
            yield _with_only(statement, inside)


def _with_only(node: ast.ClassDef, body: list[ast.stmt]) -> ast.ClassDef:
    """The class with these statements; its own lines end where its first statement begins."""
    last = max(node.lineno, _first_line(node.body[0]) - 1)
    place = {"lineno": node.lineno, "col_offset": node.col_offset, "end_lineno": last, "end_col_offset": 0}
    return ast.ClassDef(node.name, node.bases, node.keywords, body, [], **place)


def _lines(body: Iterable[ast.stmt]) -> Iterator[int]:
    for statement in body:
        yield from range(_first_line(statement), (statement.end_lineno or statement.lineno) + 1)
        if isinstance(statement, ast.ClassDef):
            yield from _lines(statement.body)


def _first_line(statement: ast.stmt) -> int:
    """The line of the statement or of its first decorator."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])
