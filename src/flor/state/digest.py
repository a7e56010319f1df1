"""Blobs named by their content; predictions put to the test."""

from __future__ import annotations

from flor.state.addresses import name_addresses
from flor.state.hashing import Hashing, content_of
from flor.state.paths import path_of
from flor.state.snapshot import Blob, Snapshot
from flor.state.window import Window

GONE = "gone"  # no name of any content


def digest(snapshot: Snapshot) -> None:
    """Hash every blob that has no name; look again at memory that was believed unchanged; find addresses."""
    name_addresses(snapshot)
    with Window() as window:
        for blob in snapshot.blobs:
            if blob.live is not None:
                _verify(snapshot, blob, window)
            elif not blob.name and blob.data is not None:
                hashing, blob.hashing = blob.hashing or Hashing(blob.data), None
                blob.name = hashing.name()
    tell, snapshot.on_digest = snapshot.on_digest, None
    if tell is not None:
        tell(snapshot)


def _verify(snapshot: Snapshot, blob: Blob, window: Window) -> None:
    prediction, blob.live = blob.live, None
    assert prediction is not None
    try:
        found = content_of(window.look(prediction.pieces()))
    except OSError:
        found = GONE
    if found != prediction.expected:
        blob.name = found  # a replay compares at once: it must see what is there, not what was believed
        snapshot.failed_prediction = path_of(snapshot, prediction.path_node)
        snapshot.distrusted.append(prediction.key)
