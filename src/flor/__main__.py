"""The command `flor`, and `python -m flor`."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line; a recorded script gets a known hash seed, for which Python must be begun anew."""
    seed = _known_hash_seed() if sys.argv[1:2] == ["record"] else None
    from flor.cli import parse

    launch = parse(seed)
    if launch is not None:
        launch()  # outside of the parser, so that nothing of ours catches what the script raises


MARK = "FLOR_HASHSEED"


def _known_hash_seed() -> str | None:
    """Begin this process anew with a chosen PYTHONHASHSEED, since a random one cannot be read and so not replayed."""
    if os.environ.pop(MARK, None):
        return os.environ.pop("PYTHONHASHSEED", None)  # the script sees the environment that the user gave it
    given = os.environ.get("PYTHONHASHSEED", "random")
    if given != "random" or not sys.flags.hash_randomization:
        return given
    seed = int.from_bytes(os.urandom(4), "little") or 1
    environment = {**os.environ, "PYTHONHASHSEED": str(seed), MARK: "1"}
    try:
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)
    except OSError:
        return None  # then sets of strings may be replayed in another order, which the check would tell


if __name__ == "__main__":
    main()
