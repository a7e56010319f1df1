"""SQLite opens its files in C: a database is copied to the overlay before it is opened."""

from __future__ import annotations

import os
from types import ModuleType
from typing import Any
from urllib.parse import quote, unquote

from flor.launch.overlay.opening import Opening
from flor.launch.overlay.patches import Patches

COMPANIONS = ("-journal", "-wal", "-shm")
URI = 7  # its position among the arguments of connect


def patch(sqlite3: ModuleType, patches: Patches, opening: Opening) -> None:
    """Let `connect` open the overlay's copy. Also for reading: SQLite writes beside what it reads."""
    original = sqlite3.connect

    def connect(database: Any, *rest: Any, **options: Any) -> Any:
        is_uri = bool(options.get("uri", rest[URI - 1] if len(rest) >= URI else False))
        try:
            real = _placed(database, is_uri, opening)
        except OSError:
            raise sqlite3.OperationalError("unable to open database file") from None
        return original(real, *rest, **options)

    patches.function(sqlite3, "connect", connect)


def _placed(database: Any, is_uri: bool, opening: Opening) -> Any:
    text = os.fsdecode(database)
    if text in ("", ":memory:"):
        return database
    if not (is_uri and text.startswith("file:")):
        return _copied(text, opening)
    location, mark, query = text[len("file:") :].partition("?")
    path = unquote(location.removeprefix("//localhost") if location.startswith("//localhost") else location)
    if path == ":memory:" or "mode=memory" in query or not path:
        return database
    return f"file:{quote(_copied(os.path.normpath(path).replace('//', '/'), opening, query))}{mark}{query}"


def _copied(path: str, opening: Opening, query: str = "") -> str:
    may_create = 0 if "mode=ro" in query or "mode=rw&" in f"{query}&" else os.O_CREAT
    real = opening.place(path, os.O_RDWR | may_create)
    place = opening.view.of_real(real)
    for companion in COMPANIONS:
        if not opening.view.passes(place):
            opening.upper.copy(place + companion)
    return real
