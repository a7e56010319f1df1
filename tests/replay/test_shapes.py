"""After a jump folders, links and permissions are as they were at the checkpoint, not as the run left them."""

from __future__ import annotations

import pytest

from tests.replay.conftest import Workshop

TRAIN = """
import glob, os, shutil, time
from pathlib import Path
Path("file").write_text("x")
for epoch in range(5):
    for batch in range(3):
        STEP
        time.sleep(0.04)
    print("probe", epoch, PROBE)  #@
    print("epoch", epoch)
"""

WAYS = {
    "permissions": ('os.chmod("file", 0o600 + epoch)', 'oct(os.stat("file").st_mode)'),
    "empty folders": (
        'os.mkdir(f"e{epoch}-{batch}"); epoch and os.rmdir(f"e{epoch - 1}-{batch}")',
        'sorted(glob.glob("e*"))',
    ),
    "links": (
        'os.path.islink("last") and os.remove("last"); os.symlink(f"file{epoch}", "last")',
        'os.readlink("last")',
    ),
    "second names": (
        'Path(f"n{epoch}").write_text(f"{epoch}"); os.path.exists("n") and os.remove("n"); os.link(f"n{epoch}", "n")',
        'Path("n").read_text(), os.stat("n").st_nlink, Path("n0").read_text()',
    ),
    "folders renamed": (
        'shutil.rmtree("cur", True); os.mkdir("new"); Path("new/v").write_text(f"{epoch}"); os.rename("new", "cur")',
        'Path("cur/v").read_text(), os.path.exists("new")',
    ),
    "files deleted later": (
        'Path(f"f{epoch}").touch(); epoch == 4 and [os.remove(path) for path in glob.glob("f[01]")]',
        'sorted(glob.glob("f[0-9]"))',
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_a_path_is_is_as_it_was(workshop: Workshop, way: str) -> None:
    step, probe = WAYS[way]
    text = TRAIN.replace("STEP", step).replace("PROBE", probe)
    workshop.program(text, probed=False)
    assert workshop.flor("record", "--overhead", "10", "train.py").code == 0
    workshop.program(text, probed=True)
    replayed = workshop.flor("replay", "-j", "1", "--epochs", "2:4")
    whole = Workshop(workshop.folder / "whole")
    whole.program(text, probed=True)
    probed = [line for line in whole.run("train.py").stdout.splitlines() if line.startswith("probe")]
    assert (replayed.stdout.splitlines(), replayed.code) == (probed[2:4], 0), replayed.stderr
