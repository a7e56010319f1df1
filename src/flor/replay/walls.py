"""What is to be said of the wall that keeps a replay's files apart, where it is not the best one."""

from __future__ import annotations

import re
from collections.abc import Iterable

from flor.errors import FilesUnsafe
from flor.launch.wall.choice import Wall

NAMED = 5  # files that a message names
BETTER = "Replay where user namespaces are allowed (then C code and programs write to the replay's folder)"
MEANING = {
    Wall.OVERLAY: "the kernel keeps all files that the script writes in the replay's folder",
    Wall.LANDLOCK: "files of Python code go to the replay's folder, the kernel refuses all other writes",
    Wall.PYTHON: "files of Python code go to the replay's folder; writes of C code and of other programs are not seen",
}
_DENIED = re.compile(r"permission denied|errno 13|os error 13|readonly database|unable to open database", re.IGNORECASE)
_NAME = re.compile(r"'([^'\n]+)'|\"([^\"\n]+)\"")


def check_wall(wall: Wall, unseen: Iterable[str], *, yes: bool) -> None:
    """FilesUnsafe if the script would change files of the user's for real, and the user has not agreed."""
    paths = sorted(unseen)
    if wall is not Wall.PYTHON or not paths or yes:
        return
    more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
    raise FilesUnsafe(
        "The run wrote files by C code or by other programs, which this machine gives flor no means to keep apart: "
        "the replay would write to them for real.",
        where=", ".join(paths[:NAMED]) + more,
        todo=f"{BETTER}; or copy these files away and use --yes.",
    )


def refused_by_wall(wall: Wall, traceback: str) -> str:
    """What to say of a script that raised behind Landlock since it may not write; empty if that is not the reason."""
    last = traceback.rstrip().rpartition("\n")[2]
    if wall is not Wall.LANDLOCK or not _DENIED.search(traceback):
        return ""
    found = _NAME.search(last)
    path = (found[1] or found[2]) if found else "a file"
    return (
        f"flor's wall (landlock) refused to let C code or another program write to {path}, outside of the replay's "
        f"folder; nothing was changed. {BETTER}; or copy the files away that the script writes, and use "
        "--wall python --yes."
    )
