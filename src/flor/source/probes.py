"""What was added to the recorded sources: log statements and what serves them, or something else."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from flor.errors import UsageError
from flor.model.edits import Change, Edit, LineMap, Probe
from flor.source.additions import FileEdit, Project, judge_file
from flor.source.bindings import definitions
from flor.source.changes import change_of_text
from flor.source.linemap import covered, map_lines
from flor.source.oldcode import read_old_code
from flor.source.treediff import diff_trees, parse


def diff_sources(recorded: Mapping[str, str], present: Mapping[str, str | None]) -> Edit:
    """Compare all files of a project (path to text, None if the file is gone).

    A file that was not recorded counts only if a recorded one now imports it.
    """
    others: list[Change] = []
    edits: list[FileEdit] = []
    trees = {path: _parse(path, text) for path, text in recorded.items() if path.endswith(".py")}
    for path, before, after in _differing(recorded, present):
        if after is None or not path.endswith(".py"):
            others.append(change_of_text(path, before, after))
            continue
        old, new = trees.get(path) or ast.Module([], []), _parse(path, after)
        edits.append(FileEdit(path, before, after, new, diff_trees(old, new)))
    others += [_shadow(edit) for edit in edits if edit.file not in recorded and _shadows(edit.file, trees)]
    return _judge(trees, edits, others, frozenset(recorded) - {edit.file for edit in edits})


def _judge(trees: Mapping[str, ast.Module], edits: list[FileEdit], others: list[Change], same: frozenset[str]) -> Edit:
    probes: list[Probe] = []
    project = Project(read_old_code(trees, [edit.file for edit in edits]), *_helpers(edits))
    forward, backward, added = {}, {}, {}
    for edit in edits:
        found, changes = judge_file(edit, project)
        probes += found
        others += changes
        forward[edit.file], backward[edit.file] = map_lines(edit.diff.pairs)
        statements = [statement for gap in edit.diff.gaps for statement in gap.added]
        added[edit.file] = frozenset(line for statement in statements for line in covered(statement))
    gone = {change.file for change in others if change.line_present is None and change.file not in forward}
    return Edit(tuple(probes), tuple(others), LineMap(forward, backward, added, same - gone))


def _helpers(edits: list[FileEdit]) -> tuple[frozenset[str], Mapping[str, ast.AST]]:
    """The names of added functions and classes, and their definitions."""
    found = {
        definition.name: definition
        for edit in edits
        for gap in edit.diff.gaps
        for statement in gap.added
        for definition in definitions(statement)
    }
    return frozenset(found), found


def _differing(recorded: Mapping[str, str], present: Mapping[str, str | None]) -> Iterator[tuple[str, str, str | None]]:
    """The files whose text is not the same, and new files that these import."""
    texts = dict(recorded)
    for path, text in recorded.items():
        after = present.get(path)
        if after != text:
            yield path, text, after
        if after is not None:
            texts[path] = after
    yield from _imported(texts, {path: text for path, text in present.items() if path not in recorded and text})


def _imported(texts: dict[str, str], new: Mapping[str, str | None]) -> Iterator[tuple[str, str, str]]:
    """The new files that the given ones import, and those that the new ones import."""
    if not new:
        return
    reached = _modules(text for path, text in texts.items() if path.endswith(".py"))
    left = dict(new)
    while found := [path for path in left if _module(path) in reached and path.endswith(".py")]:
        for path in found:
            text = left.pop(path) or ""
            reached |= _modules([text])
            yield path, "", text


def _modules(texts: Iterable[str]) -> set[str]:
    """Every part of the names of modules that these files import; a broken file has none."""
    found: set[str] = set()
    for text in texts:
        try:
            tree = ast.parse(text)
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [alias.name for alias in node.names]
                found |= {part for name in (*names, getattr(node, "module", "") or "") for part in name.split(".")}
    return found


def _module(path: str) -> str:
    pure = PurePosixPath(path)
    return pure.parent.name if pure.stem == "__init__" else pure.stem


def _shadows(path: str, trees: Mapping[str, ast.Module]) -> bool:
    """True if recorded code already imported a module of that name, which then was another one."""
    return _module(path) in _modules(ast.unparse(tree) for tree in trees.values())


def _shadow(edit: FileEdit) -> Change:
    what = "a new file takes the place of a module that the recorded code imports"
    return change_of_text(edit.file, "", edit.present, what)


def _parse(path: str, text: str) -> ast.Module:
    try:
        return parse(text)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        message = getattr(error, "msg", None) or str(error)
        raise UsageError(f"SyntaxError: {message}", where=f"{path}:{line}", todo="Mend the file.") from error
