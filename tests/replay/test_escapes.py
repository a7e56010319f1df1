"""What a replay does outside of its folder is named in the verdict, all of it, whatever the verdict is."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.replay.conftest import Workshop

TRAIN = """
import multiprocessing, os, random, signal, socket, subprocess, time
from pathlib import Path
other = int(Path("other.txt").read_text())
port = int(Path("port.txt").read_text())
fork = multiprocessing.get_context("fork")
for epoch in range(3):
    subprocess.run(["true", "first"])
    os.system("true second")
    socket.create_connection(("127.0.0.1", port)).close()
    os.kill(other, signal.SIGCONT)
    os.kill(os.getpid(), signal.SIGCONT)
    child = fork.Process(target=os.system, args=("true third",))
    child.start()
    child.join()
    time.sleep(0.05)
    print("probe", epoch)  #@
    print("epoch", epoch, NOISE)
"""


@pytest.mark.parametrize("verdict", ["exact", "diverged"])
@pytest.mark.parametrize("wall", ["overlay", "landlock", "python"])
def test_every_escape_is_named(workshop: Workshop, verdict: str, wall: str) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        try:
            (workshop.folder / "other.txt").write_text(str(sleeper.pid))
            (workshop.folder / "port.txt").write_text(str(server.getsockname()[1]))
            noise = "0" if verdict == "exact" else "open('/proc/sys/kernel/random/uuid').read()"
            workshop.program(TRAIN.replace("NOISE", noise), probed=False)
            recorded = workshop.flor("record", "--overhead", "10", "train.py")
            assert recorded.code == 0, recorded.stderr
            workshop.program(TRAIN.replace("NOISE", noise), probed=True)
            said = workshop.flor("replay", "-j", "1", "--wall", wall).stderr.splitlines()[-1]
        finally:
            sleeper.kill()
            sleeper.wait()
    assert said.startswith(f"flor: {verdict}")
    for named in ("true first", "true second", "true third", f"127.0.0.1:{server_port(said)}", f"{sleeper.pid} with"):
        assert named in said
    assert said.count("os.kill ") == 1  # a signal to the process itself is no escape


def server_port(said: str) -> str:
    """The port that the verdict names."""
    return said.partition("127.0.0.1:")[2].partition(" ")[0].rstrip(",")
