"""What the world tells a program, noted when it is recorded and answered when it is replayed."""

from flor.launch.inputs.answering import WALL, Answering
from flor.launch.inputs.noting import Noting
from flor.launch.inputs.past import PastClock
from flor.launch.inputs.recorded import RecordedInputs
from flor.launch.inputs.watching import InputWatch

__all__ = ["WALL", "Answering", "InputWatch", "Noting", "PastClock", "RecordedInputs"]
