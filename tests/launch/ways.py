"""Ways to write to a file outside: Python, C and Rust libraries, children, links, descriptors, /proc.

Each way of `writing.ways` is a text of Python that runs in a folder of its own. The folder holds `old.txt` ("old") and
`sub/old.txt`. A way changes or makes files there and sets `seen` to what it reads back of its own change. The expected
value is behind the arrow of its header line.
"""

from __future__ import annotations

import re
from pathlib import Path

TEXT = Path(__file__).with_name("writing.ways").read_text()
WAYS: dict[str, tuple[str, str]] = {
    match[1]: (match[3].strip(), match[2]) for match in re.finditer(r"--- (.+) -> (.+)\n((?:(?!--- ).*\n)+)", TEXT)
}
"""Name -> code, and the repr of what it should see."""
