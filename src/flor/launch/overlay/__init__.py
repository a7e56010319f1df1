"""Isolation of replay: what the script writes lands in a folder of its own, and is read back from there."""

from flor.launch.overlay.escapes import Escape
from flor.launch.overlay.overlay import Overlay

__all__ = ["Escape", "Overlay"]
