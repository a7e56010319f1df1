"""Source bytes -> instrumented code, with the bytes kept as they were executed."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from types import CodeType

from flor.launch.project import Project
from flor.source.instrument import instrument
from flor.source.libraries import excerpt, watched
from flor.source.stores import Stores, stores_of

Keep = Callable[[str, str, bytes], None]
"""Told of each file that is executed: name in the store, module name, bytes."""


class Compiler:
    """Compiles the project's files; a file that we fail to instrument is compiled plainly."""

    def __init__(
        self,
        project: Project,
        keep: Keep,
        on_trouble: Callable[[str], None],
        *,
        texts: Mapping[str, str] | None = None,
        rename: Callable[[str], str] = str,
        doubtful: Mapping[str, frozenset[int]] | None = None,
        probes: Mapping[str, frozenset[int]] | None = None,
    ) -> None:
        self.project = project
        self.keep = keep
        self.on_trouble = on_trouble
        self.texts = texts or {}  # what to execute in place of what is on disk
        self.doubtful = doubtful or {}  # lines of probes to be watched, file by file
        self.probes = probes or {}  # lines of all probes, file by file
        self.stores = Stores()  # attributes that the files compiled so far put on what they import
        self.rename = rename  # what a loop is called, where that differs from its place in the source

    def compiles(self, path: str) -> bool:
        """True if a file is the project's, or a library's with a training loop in it."""
        return self.project.owns(path) or self.project.library(path) is not None

    def compile(self, text: bytes, path: str, module: str) -> CodeType:
        """The instrumented code of a file; SyntaxError is Python's own."""
        library = self.project.library(path)
        if library is not None:
            return self._of_library(text, path, library, module)
        name = self.project.name(path)
        source = self.texts.get(name, text)
        code = self._instrumented(source, path, name)
        if code is None:
            code = compile(source, path, "exec", dont_inherit=True)
        self.keep(name, module, text)
        return code

    def _instrumented(self, source: str | bytes, path: str, name: str) -> CodeType | None:
        """The code with our calls, or None; the text is parsed and compiled once, so that Python warns once."""
        try:
            tree = compile(
                source, path, "exec", ast.PyCF_ONLY_AST, dont_inherit=True
            )  # no frame of `ast` in a traceback
            assert isinstance(tree, ast.Module)
            self.stores |= stores_of(tree)
            doubtful, probes = (lines.get(name, frozenset()) for lines in (self.doubtful, self.probes))
            marked = instrument(tree, name, self.rename, doubtful, probes)
        except SyntaxError:
            raise
        except Exception as error:  # a failure of ours never stops training
            self.on_trouble(f"{name} is not instrumented: {type(error).__name__}: {error}")
            return None
        try:
            return compile(marked, path, "exec", dont_inherit=True)
        except Exception as error:  # `break` outside of a loop and the like: found late, said by Python itself
            self.on_trouble(f"{name} is not instrumented: {type(error).__name__}: {error}")
            return None

    def _of_library(self, text: bytes, path: str, name: str, module: str) -> CodeType:
        """The code of a library's file, with our calls in the functions that have its training loops only."""
        try:
            tree = compile(text, path, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
            assert isinstance(tree, ast.Module)
            part = watched(tree, name)
            self.keep(name, module, excerpt(text.decode(), part).encode())
            instrument(part, name, self.rename)
            return compile(tree, path, "exec", dont_inherit=True)
        except Exception as error:  # a failure of ours never stops training
            self.on_trouble(f"{name} is not instrumented: {type(error).__name__}: {error}")
            return compile(text, path, "exec", dont_inherit=True)
