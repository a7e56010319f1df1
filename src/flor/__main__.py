"""The command `flor`, and `python -m flor`."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line; a recorded script gets a known hash seed, for which Python must be begun anew."""
    seed = _known_hash_seed() if sys.argv[1:2] == ["record"] else None
    _look_away()
    from flor.cli import parse

    launch = parse(seed)
    if launch is not None:
        launch()  # outside of the parser, so that nothing of ours catches what the script raises


MARK = "FLOR_HASHSEED"


def _known_hash_seed() -> str | None:
    """Begin this process anew with a chosen PYTHONHASHSEED, since a random one cannot be read and so not replayed."""
    mark = os.environ.pop(MARK, None)
    if mark is not None:
        return _hide_seed(mark)
    given = os.environ.get("PYTHONHASHSEED", "")
    if sys.flags.ignore_environment:
        return None  # `python -E` would not listen
    if given not in ("", "random") or not sys.flags.hash_randomization:
        return given
    seed = int.from_bytes(os.urandom(4), "little") or 1
    environment = {**os.environ, "PYTHONHASHSEED": str(seed), MARK: given}
    try:
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)
    except OSError:
        return None  # then sets of strings may be replayed in another order, which the check would tell


def _hide_seed(given: str) -> str | None:
    """The seed that we chose; the script sees the environment that the user gave it."""
    seed = os.environ.pop("PYTHONHASHSEED", None)
    if given:
        os.environ["PYTHONHASHSEED"] = given
    return seed


def _look_away() -> None:
    """With `python -m flor` the current folder comes first on the path: our own imports must not find the user's."""
    if not sys.flags.safe_path and sys.path[:1] in ([""], [os.getcwd()]):
        sys.path[0] = os.path.dirname(sys.executable)  # as the command `flor` has it


if __name__ == "__main__":
    main()
