"""Draws docs/figures/hindsight.png: the loss that examples/digits.py logged, and what was asked of it afterwards.

python docs/figures/hindsight.py [OUTPUT]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXAMPLE = HERE.parent.parent / "examples" / "digits.py"
BELOW = "        optimizer.step()\n"
LOSS = '        flor.log("loss", loss.item())\n'
NORM = '        flor.log("weight_norm", model[0].weight.norm())\n'


def script(*lines: str) -> str:
    """The example with log statements at the end of a step."""
    text = EXAMPLE.read_text().replace("import torch\n", "import flor\nimport torch\n", 1)
    assert BELOW in text
    return text.replace(BELOW, BELOW + "".join(lines))


def flor(folder: Path, *words: str) -> None:
    """Run a command of flor there."""
    subprocess.run([sys.executable, "-m", "flor", *words], cwd=folder, check=True)


def main() -> None:
    """Record with the loss only, ask for the norm of the weights, draw both."""
    output = Path(sys.argv[1] if len(sys.argv) > 1 else HERE / "hindsight.png").resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "train.py").write_text(script(LOSS))
        flor(folder, "record", "--name", "digits", "train.py")
        (folder / "train.py").write_text(script(LOSS, NORM))
        flor(folder, "replay", "digits")
        flor(folder, "plot", "digits", "loss", "weight_norm", "-o", str(output))


if __name__ == "__main__":
    main()
