"""What libraries give to `logging` is kept and not compared; what the script logs through a library is."""

from __future__ import annotations

import json

from tests.replay.conftest import Workshop

LIBRARY = """
    import logging, os, time
    log = logging.getLogger("noisy")

    def work(function):
        log.warning("process %s at %s", os.getpid(), time.time())
        return function()
"""

SCRIPT = """
    import logging, os, sys
    sys.path.insert(0, "site-packages")
    import noisy
    logging.basicConfig(stream=sys.stdout, format="%(message)s")

    def own():
        logging.getLogger("noisy").warning("value %s", value())

    def value():
        return 1

    for epoch in range(3):
        noisy.work(own)
        print("epoch", epoch)
        print("probe", epoch)  #@
"""


def recorded(workshop: Workshop) -> None:
    workshop.write(LIBRARY, "site-packages/noisy.py")
    workshop.program(SCRIPT, probed=False)
    assert workshop.flor("record", "train.py").code == 0


def test_a_librarys_own_record_is_kept_and_not_compared(workshop: Workshop) -> None:
    recorded(workshop)
    rows = [json.loads(line) for line in workshop.flor("logs", "--json").stdout.splitlines()]
    channels = [row["channel"] for row in rows if row["name"] == "noisy.WARNING"]
    assert channels == ["library", "logging"] * 3
    workshop.program(SCRIPT, probed=True)
    done = workshop.flor("replay")
    assert (done.stdout, done.code) == ("probe 0\nprobe 1\nprobe 2\n", 0), done.stderr
    assert "a library logs otherwise than in the record" in done.stderr


def test_a_record_of_the_script_is_compared_also_where_a_library_calls_it(workshop: Workshop) -> None:
    text = SCRIPT.replace("return 1", 'return os.stat("count").st_size')
    workshop.write(LIBRARY, "site-packages/noisy.py")
    workshop.write("a", "count")
    workshop.program(text, probed=False)
    assert workshop.flor("record", "train.py").code == 0
    workshop.write("abc", "count")
    workshop.program(text, probed=True)
    done = workshop.flor("replay")
    assert done.code == 3
    assert "recorded 'value 1', replayed 'value 3'" in done.stderr
