"""Objects <-> snapshots: what training changes, taken and put back. The only room that touches torch."""

from flor.state.capture import capture
from flor.state.demand import Admit, Answer, Demand
from flor.state.differences import Difference, differences
from flor.state.encoding import decode, encode
from flor.state.loaders import watch_loaders
from flor.state.memory import Memory
from flor.state.restore import restore
from flor.state.snapshot import Blob, Rebinding, Refusal, Snapshot

__all__ = [
    "Admit",
    "Answer",
    "Blob",
    "Demand",
    "Difference",
    "Memory",
    "Rebinding",
    "Refusal",
    "Snapshot",
    "capture",
    "decode",
    "differences",
    "encode",
    "restore",
    "watch_loaders",
]
