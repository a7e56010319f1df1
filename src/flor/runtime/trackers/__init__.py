"""Trackers at work: what they tell a recorded script is kept, and on replay they are silent and tell the same."""

from flor.runtime.trackers.silencing import TrackerWatch

__all__ = ["TrackerWatch"]
