"""The bytes of an event file: framed records with checksums, each a protocol buffer message."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import IO

_POLYNOMIAL = 0x82F63B78
_MASK = 0xA282EAD8


def _row(number: int) -> int:
    for _ in range(8):
        number = (number >> 1) ^ (_POLYNOMIAL if number & 1 else 0)
    return number


_TABLE = tuple(_row(number) for number in range(256))


class EventFile:
    """An event file that is being written."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    @classmethod
    def create(cls, folder: Path, time: float) -> EventFile:
        """A new one in a folder of its own, with the version that readers expect first."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"events.out.tfevents.{max(0, int(time)):010d}.flor"
        created = cls(path.open("xb"))
        created._write(_double(1, time) + _bytes(3, b"brain.Event:2"))
        return created

    def scalar(self, tag: str, value: float, step: int, time: float) -> None:
        """One value; event files have single precision."""
        name = tag.encode("utf-8", "replace")
        summary = _bytes(1, _bytes(1, name) + _varint(2 << 3 | 5) + struct.pack("<f", single(value)))
        self._write(_double(1, time) + _varint(2 << 3) + _varint(step) + _bytes(5, summary))

    def __enter__(self) -> EventFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _write(self, event: bytes) -> None:
        length = struct.pack("<Q", len(event))
        self._file.write(length + _checksum(length) + event + _checksum(event))


def single(value: float) -> float:
    """The value, or an infinity if single precision can't hold it."""
    try:
        struct.pack("<f", value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    return value


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def _bytes(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _double(field: int, value: float) -> bytes:
    return _varint(field << 3 | 1) + struct.pack("<d", value)


def crc32c(data: bytes) -> int:
    """Castagnoli's checksum."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def _checksum(data: bytes) -> bytes:
    """Masked, since a checksum of bytes that hold a checksum is a weak one."""
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + _MASK) & 0xFFFFFFFF)
