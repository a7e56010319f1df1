"""Made-up scripts of file steps see through the overlay what they would see without it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from fileoperations import read, tree, write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flor.launch.overlay import Overlay

NAMES = st.sampled_from(["a", "b", "d", "d/a", "d/e", "d/e/a", "link", "link/a"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["w", "a", "r+", "x"]), NAMES),
        st.tuples(st.sampled_from(["remove", "mkdir", "rmdir", "rmtree", "makedirs"]), NAMES),
        st.tuples(st.sampled_from(["rename", "symlink", "link", "copy", "move"]), NAMES, NAMES),
        st.tuples(st.sampled_from(["list", "read", "exists"]), NAMES),
    ),
    max_size=12,
)


def do(step: tuple[str, ...]) -> object:
    """One step of a made-up script: what it returns, or the error with the path that the error names."""
    name, path, *rest = step
    try:
        if name in ("w", "a", "r+", "x"):
            return write(path, f"{name}{path}", name)
        if name == "list":
            return sorted(os.listdir(path)), sorted(entry.name for entry in os.scandir(path) if entry.is_dir())
        if name in ("read", "exists"):
            return read(path) if name == "read" else (os.path.exists(path), os.path.lexists(path), os.path.isdir(path))
        function = getattr(os, name, None) or getattr(shutil, name)
        function(path, *rest)
    except OSError as error:
        return type(error).__name__, error.filename, error.filename2
    except shutil.Error:
        return "shutil.Error"
    return None


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_any_script_of_file_steps_sees_the_same_results_and_errors(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, ...]]
) -> None:
    where = tmp_path_factory.mktemp("steps")
    home = where / "home"
    (home / "d/e").mkdir(parents=True)
    for name in ("a", "d/a", "d/e/a"):
        (home / name).write_text(name)
    (home / "link").symlink_to("d")
    cwd = Path.cwd()
    os.chdir(home)
    try:
        before = tree(home)
        with Overlay(where / "overlay"):
            replayed = [do(step) for step in steps]
        assert tree(home) == before
        assert replayed == [do(step) for step in steps]
    finally:
        os.chdir(cwd)
        shutil.rmtree(where)
