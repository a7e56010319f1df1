"""Names that people can say."""

from __future__ import annotations

import random

from flor.store.layout import checked_name
from flor.store.names import ADJECTIVES, ANIMALS, propose


def test_there_are_many_names_and_each_may_be_a_run() -> None:
    assert len(set(ADJECTIVES)) == len(ADJECTIVES) >= 100
    assert len(set(ANIMALS)) == len(ANIMALS) >= 100
    for word in ADJECTIVES + ANIMALS:
        assert word.isalpha() and checked_name(word)


def test_proposals_differ_though_the_user_seeds_every_time() -> None:
    def seeded() -> str:
        random.seed(1)
        return propose()

    assert len({seeded() for _ in range(20)}) > 1


def test_the_users_random_stream_is_not_touched() -> None:
    random.seed(1)
    before = random.getstate()
    propose(numbered=True)
    assert random.getstate() == before


def test_numbered_names_are_names() -> None:
    adjective, animal, number = checked_name(propose(numbered=True)).split("-")
    assert adjective in ADJECTIVES and animal in ANIMALS and number.isdecimal()
