"""What a frame binds can be read without a trace."""

from __future__ import annotations

import logging
import sys
import weakref
from typing import Any

from flor.runtime.scopes import is_module_level, locals_of, loggers_in_use


class Big:
    """Something whose end can be seen."""


def test_a_look_keeps_no_local_alive() -> None:
    def train() -> Any:
        batch = Big()
        gone = weakref.ref(batch)
        found = locals_of(sys._getframe())["batch"] is batch
        del batch
        return found, gone()

    assert train() == (True, None)


def test_a_dict_that_the_script_asked_for_is_left_to_it() -> None:
    def train(lr: float) -> dict[str, Any]:
        config = locals()
        locals_of(sys._getframe())
        return config

    assert train(0.1)["lr"] == 0.1


def test_a_class_body_is_read_and_left_as_it_is() -> None:
    class Net:
        width = 3
        seen = locals_of(sys._getframe())

    assert Net.seen["width"] == Net.width == 3


def test_module_level_is_known_from_functions() -> None:
    assert not is_module_level(sys._getframe())
    found: dict[str, Any] = {}
    exec("import sys\nframe = sys._getframe()", found)
    assert is_module_level(found["frame"])


def test_loggers_with_handlers_are_state_that_no_name_need_reach() -> None:
    logger, handler = logging.getLogger("flor.tests.in_use"), logging.NullHandler()
    assert logger.name not in dict(loggers_in_use())
    logger.addHandler(handler)
    try:
        assert dict(loggers_in_use())[logger.name] is logger
    finally:
        logger.removeHandler(handler)
