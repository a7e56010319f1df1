"""Landlock: the kernel refuses this process and its children every write outside of named folders."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from pathlib import Path

from flor.launch.wall import syscalls

# What a file system object may have done to it, with the version of Landlock that first knew the right.
RIGHTS = {
    "write": (1 << 1, 1),
    "remove folder": (1 << 4, 1),
    "remove file": (1 << 5, 1),
    "make device": (1 << 6, 1),
    "make folder": (1 << 7, 1),
    "make file": (1 << 8, 1),
    "make socket": (1 << 9, 1),
    "make pipe": (1 << 10, 1),
    "make block device": (1 << 11, 1),
    "make link": (1 << 12, 1),
    "move to another folder": (1 << 13, 2),
    "truncate": (1 << 14, 3),
}
OF_FILES = (1 << 1) | (1 << 14)  # the rights that a rule for a file may name
VERSION_QUESTION = 1


class Ruleset(ctypes.Structure):
    """What is to be refused unless a rule allows it."""

    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class Beneath(ctypes.Structure):
    """A rule: these rights for everything in a folder."""

    _pack_ = 1
    _fields_ = (("rights", ctypes.c_uint64), ("folder", ctypes.c_int32))


def version() -> int:
    """The version of Landlock that this kernel has; 0 if it has none."""
    if not syscalls.HAS_NUMBERS:
        return 0
    try:
        return syscalls.call(syscalls.CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(VERSION_QUESTION))
    except OSError:
        return 0


def confine(folders: Iterable[Path]) -> None:
    """Refuse every change of a file outside of these folders, for good; a folder that is not there is passed over."""
    rights = sum(bit for bit, since in RIGHTS.values() if since <= version())
    asked = Ruleset(files=rights)
    ruleset = syscalls.call(syscalls.CREATE_RULESET, ctypes.byref(asked), ctypes.c_size_t(8), ctypes.c_uint32(0))
    try:
        for folder in folders:
            _allow(ruleset, folder, rights)
        syscalls.no_new_privileges()
        syscalls.call(syscalls.RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: Path, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rule = Beneath(rights if path.is_dir() else rights & OF_FILES, descriptor)
        syscalls.call(syscalls.ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(1), ctypes.byref(rule), ctypes.c_uint32(0))
    finally:
        os.close(descriptor)
