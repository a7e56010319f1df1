"""CRC-32C of a record of an event file, by tables over whole blocks: a loop over bytes is the dear part of TensorBoard.

The checksum is linear over GF(2), so that the remainders of blocks can be had at once and folded pairwise.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy

POLYNOMIAL = 0x82F63B78
BLOCK = 64
SHORT = 192  # below this a loop is faster
MASK = 0xFFFFFFFF


def masked_crc32c(data: bytes) -> int:
    """The checksum as records store it."""
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & MASK


def crc32c(data: bytes) -> int:
    """The plain checksum."""
    return _by_byte(data) if len(data) < SHORT else _by_block(data)


def _by_byte(data: bytes) -> int:
    table, crc = _byte_table(), MASK
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ MASK


def _by_block(data: bytes) -> int:
    blocks = -(-len(data) // BLOCK)
    padded: Any = numpy.zeros(blocks * BLOCK, numpy.uint8)  # zeros in front change no remainder
    padded[-len(data) :] = numpy.frombuffer(data, numpy.uint8)
    begin = len(padded) - len(data)
    padded[begin : begin + 4] ^= 0xFF  # as if the register began with ones
    remainders = numpy.bitwise_xor.reduce(_block_table().take(padded.reshape(-1, BLOCK) + _columns()), axis=1)
    level = 0
    while len(remainders) > 1:
        if len(remainders) % 2:
            remainders = numpy.append(_zero(), remainders)
        remainders = _shifted(remainders[0::2], level) ^ remainders[1::2]
        level += 1
    return int(remainders[0]) ^ MASK


def _shifted(crcs: Any, level: int) -> Any:
    """The registers after BLOCK * 2**level zero bytes."""
    tables = _shift_tables(level)
    low, high = tables[0].take(crcs & 0xFF), tables[1].take((crcs >> 8) & 0xFF)
    return low ^ high ^ tables[2].take((crcs >> 16) & 0xFF) ^ tables[3].take(crcs >> 24)


@cache
def _byte_table() -> list[int]:
    table = list(range(256))
    for _ in range(8):
        table = [(value >> 1) ^ (POLYNOMIAL if value & 1 else 0) for value in table]
    return table


@cache
def _block_table() -> Any:
    """What a byte at each place of a block adds to the block's remainder, as one flat table."""
    single = numpy.array(_byte_table(), numpy.uint32)
    rows = [single]
    for _ in range(BLOCK - 1):
        rows.append(single[rows[-1] & 0xFF] ^ (rows[-1] >> 8))
    return numpy.concatenate(rows[::-1])


@cache
def _zero() -> Any:
    return numpy.zeros(1, numpy.uint32)


@cache
def _columns() -> Any:
    return numpy.arange(BLOCK, dtype=numpy.intp) * 256


@cache
def _shift_tables(level: int) -> Any:
    """For each byte of the register, what it becomes after that many zeros."""
    if level:
        half = _shift_tables(level - 1)
        return numpy.stack([_shifted(row, level - 1) for row in half])
    single = numpy.array(_byte_table(), numpy.uint32)
    tables = numpy.arange(256, dtype=numpy.uint32) << (8 * numpy.arange(4, dtype=numpy.uint32))[:, None]
    for _ in range(BLOCK):
        tables = single[tables & 0xFF] ^ (tables >> 8)
    return tables
