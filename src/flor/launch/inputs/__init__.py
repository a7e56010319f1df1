"""What the world tells a program, noted when it is recorded and answered when it is replayed."""

from flor.launch.inputs.answering import Answering
from flor.launch.inputs.noting import Noting
from flor.launch.inputs.recorded import RecordedInputs
from flor.launch.inputs.watching import InputWatch

__all__ = ["Answering", "InputWatch", "Noting", "RecordedInputs"]
