"""System calls of Linux for which Python has no function: namespaces, mounts, Landlock."""

from __future__ import annotations

import ctypes
import os
import platform

CLONE_NEWUSER, CLONE_NEWNS = 0x10000000, 0x00020000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_NOATIME, MS_NODIRATIME, MS_BIND = 1 << 10, 1 << 11, 1 << 12
MS_REC, MS_PRIVATE, MS_RELATIME = 1 << 14, 1 << 18, 1 << 21
PR_SET_NO_NEW_PRIVS = 38
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the numbers of Landlock's calls on every architecture
HAS_NUMBERS = platform.machine() in ("x86_64", "aarch64", "riscv64", "ppc64le", "s390x")

_LIBC = ctypes.CDLL(None, use_errno=True)


def unshare(flags: int) -> None:
    """Give this process namespaces of its own; a new user namespace needs a process with one thread."""
    _checked(_LIBC.unshare(ctypes.c_int(flags)), "unshare")


def mount(source: str | None, target: str, kind: str | None, flags: int = 0, options: str = "") -> None:
    """Mount something, or change a mount."""
    words = (_text(source), _text(target), _text(kind), ctypes.c_ulong(flags), _text(options or None))
    _checked(_LIBC.mount(*words), f"mount {target}")


def no_new_privileges() -> None:
    """Let no program that this process starts gain rights by a set-user-ID bit; Landlock asks for that."""
    _checked(_LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")


def drop_capabilities() -> None:
    """Give up the rights that a user namespace brought: permissions hold for this process as they did before it."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # the third version of the call; this process
    nothing = (ctypes.c_uint32 * 6)()
    _checked(_LIBC.capset(header, nothing), "capset")


def call(number: int, *words: object) -> int:
    """A system call by its number."""
    return _checked(_LIBC.syscall(ctypes.c_long(number), *words), f"system call {number}")


def _text(value: str | None) -> ctypes.c_char_p:
    return ctypes.c_char_p(None if value is None else os.fsencode(value))


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result
