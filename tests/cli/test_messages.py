"""docs/messages.md has a row for every slug that flor can say, and no other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from flor import errors

ROOT = Path(__file__).parent.parent.parent
SAID = re.compile(r"(?:^| )\[([a-z]+(?:-[a-z]+)*)\]")


def slugs_of_errors() -> set[str]:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and hasattr(kind, "slug")]
    return {kind.slug for kind in kinds}


def slugs_said() -> set[str]:
    return {slug for path in (ROOT / "src").rglob("*.py") for text in literals(path) for slug in SAID.findall(text)}


def literals(path: Path) -> Iterator[str]:
    """The texts of a file's code, without its docstrings."""
    tree = ast.parse(path.read_text())
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)]
    docstrings = {id(body[0].value) for body in bodies if body and isinstance(body[0], ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def rows() -> dict[str, tuple[str, str]]:
    """Slug -> meaning and what to do."""
    text = (ROOT / "docs" / "messages.md").read_text()
    found = re.findall(r"^\| `([a-z-]+)` \| (.+?) \| (.+?) \|$", text, re.MULTILINE)
    assert len(found) == len({slug for slug, *_ in found})
    return {slug: (meaning, todo) for slug, meaning, todo in found}


def test_every_slug_has_a_row_and_every_row_a_slug() -> None:
    assert sorted(rows()) == sorted(slugs_of_errors() | slugs_said())


def test_every_row_says_what_it_means_and_what_to_do() -> None:
    assert all(len(meaning) > 10 and len(todo) > 10 for meaning, todo in rows().values())


def test_the_tree_in_errors_names_every_class() -> None:
    drawn = set(re.findall(r"[─│ ]*\b([A-Z]\w+)", errors.__doc__ or ""))
    assert {name for name, kind in vars(errors).items() if isinstance(kind, type)} <= drawn
