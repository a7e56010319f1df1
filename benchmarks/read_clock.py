"""What one reading of a clock costs while a run is recorded, beside a plain reading in the same process.

python benchmarks/read_clock.py [--readings 200000]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = """
import sys
import time

def measure(read, count):
    best = float("inf")
    for _ in range(5):
        begun = plain()
        for _ in range(count // 5):
            read()
        best = min(best, (plain() - begun) / (count // 5))
    return best * 1e6

plain = getattr(time, "process_time")  # other programs at work do not count
count = int(sys.argv[1])
unnoted, noted = measure(getattr(time, "time"), count), measure(time.time, count)
begun = plain()
for _ in range(count // 50):
    time.time()
    print("x")
with_logs = (plain() - begun) / (count // 50) * 1e6
begun = plain()
for _ in range(count // 50):
    print("x")
logs = (plain() - begun) / (count // 50) * 1e6
for text in (f"a plain reading: {unnoted:.3f} us", f"a noted reading: {noted:.3f} us (it is asked by name)",
             f"a noted reading before a print: {with_logs - logs:.3f} us more than the print alone"):
    print(text, file=sys.stderr)
"""


def main() -> None:
    """Record the script and print what it measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readings", type=int, default=200_000)
    count = parser.parse_args().readings
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "train.py").write_text(SCRIPT)
        command = [str(Path(sys.executable).with_name("flor")), "record", "train.py", str(count)]
        done = subprocess.run(
            command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True
        )
        size = sum(path.stat().st_size for path in Path(folder).rglob("*.journal"))
    sys.stdout.write(f"{done.stderr}the journal has {size:,} bytes\n")


if __name__ == "__main__":
    main()
