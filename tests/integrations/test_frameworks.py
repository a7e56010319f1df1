"""Callbacks for frameworks cost nothing to those who have none."""

from __future__ import annotations

import subprocess
import sys

import pytest

from flor.errors import MissingFramework
from flor.integrations.frameworks import framework


def test_a_framework_that_is_missing_is_named() -> None:
    with pytest.raises(MissingFramework, match=r"no_such_framework can't be imported.*\[missing-framework\]"):
        framework("no_such_framework.pytorch", "no_such_framework_either")


def test_the_one_that_the_script_has_imported_is_taken() -> None:
    import json

    assert framework("no_such_framework", "json") is json


def test_flor_imports_no_framework() -> None:
    code = (
        "import sys, flor, flor.integrations; print(sorted({'torch', 'lightning', 'transformers'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
