"""Run as a script: enter a wall, try every way to write in a folder of its own, and print what was seen as JSON."""

from __future__ import annotations

import contextlib
import ctypes
import io
import json
import os
import shutil
import sys
import time
import traceback
from pathlib import Path

from ways import WAYS

from flor.launch.wall.choice import Wall, build


def give_up_rights() -> None:
    """Be like a user who is no administrator; one right stays, without which user 0 may map no user 0."""
    setfcap = 1 << 31
    header, rights = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)(setfcap, setfcap)
    ctypes.CDLL(None).capset(header, rights)


def attempt(code: str, folder: str, outside: int) -> str:
    """What one way has seen, or its error."""
    os.chdir(folder)
    space = {"os": os, "shutil": shutil, "Path": Path, "OUTSIDE": outside, "__name__": "way"}
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(code, "way", "exec"), space)
        return repr(space["seen"])
    except Exception as error:
        return f"{type(error).__name__}: {traceback.format_exception_only(error)[-1].strip()}"


def main() -> None:
    wall, layer, places, outside = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])
    if "user" in sys.argv:
        give_up_rights()
    os.chdir(places)
    begun = time.perf_counter()
    files = build(Wall(wall), layer / "files", pass_through=[layer], expected=[str(places)])
    files.install()
    seconds = time.perf_counter() - begun
    seen = {name: attempt(code, str(places / str(n)), outside) for n, (name, (code, _)) in enumerate(WAYS.items())}
    (layer / "seen.json").write_text(json.dumps({"seconds": seconds, "seen": seen}))


if __name__ == "__main__":
    main()
