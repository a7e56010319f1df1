"""A file that the run itself rewrites holds, after a jump or a skip, what it held then; or all is executed."""

from __future__ import annotations

import pytest

from tests.replay.conftest import Workshop

TRAIN = """
import time
from pathlib import Path
counter = Path("count.txt")
counter.write_text("000000" * SIZE)
for epoch in range(5):
    for batch in range(4):
        counter.write_text(f"{int(counter.read_text()[:6]) + 1:06d}" * SIZE)
        time.sleep(0.04)
    print("probe", epoch, counter.read_text()[:6])  #@
    print("epoch", epoch)
"""


@pytest.mark.parametrize(("size", "again"), [(1, False), (20_000, True)], ids=["small", "large"])
def test_a_file_that_the_run_rewrites_is_read_as_it_was(workshop: Workshop, size: int, again: bool) -> None:
    text = TRAIN.replace("SIZE", str(size))
    workshop.program(text, probed=False)
    assert workshop.flor("record", "--overhead", "10", "train.py").code == 0
    workshop.program(text, probed=True)
    replayed = workshop.flor("replay", "-j", "1", "--epochs", "2:5")
    wanted = [f"probe {epoch} {4 * (epoch + 1):06d}" for epoch in range(2, 5)]
    assert (replayed.stdout.splitlines(), replayed.code) == (wanted, 0), replayed.stderr
    assert ("executing from the beginning" in replayed.stderr) == again
