"""An event file that each record is appended to at once, so that its length says what is done."""

from __future__ import annotations

import os
import struct
from typing import Any

from flor.runtime.background.crc import masked_crc32c


class EventLog:
    """Stands for TensorBoard's writer of event files: same bytes, no thread, no buffer."""

    def __init__(self, path: str, folder: str, size: int) -> None:
        self.path = path
        self.folder = folder
        self.file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        self.size = size
        os.ftruncate(self.file, size)  # a record that a dead process left half-written goes

    def get_logdir(self) -> str:
        """The folder, as TensorBoard asks for it."""
        return self.folder

    def add_event(self, event: Any) -> None:
        """Append an event."""
        self.append(event.SerializeToString())

    def append(self, data: bytes) -> None:
        """Append one record; if the disk is full, none of it."""
        header = struct.pack("<Q", len(data))
        check, footer = struct.pack("<I", masked_crc32c(header)), struct.pack("<I", masked_crc32c(data))
        record = memoryview(header + check + data + footer)
        try:
            while record:
                record = record[os.write(self.file, record) :]
        except OSError:
            os.ftruncate(self.file, self.size)
            raise
        self.size += len(data) + 16

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        """Close the file."""
        os.close(self.file)
