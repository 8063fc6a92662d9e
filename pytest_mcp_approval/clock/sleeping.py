"""Repairs one defect of libfaketime before 0.9.11: sleeping by the monotonic clock.

There `clock_nanosleep` with an absolute instant of a monotonic clock that is not faked fails with
EINVAL, and with it `time.sleep` of Python 3.11 and newer. What repairs it is a shared object with
that one function, which asks the kernel and nobody else. It is written here byte by byte, because a
compiler cannot be counted on. Knows nothing of clocks; who uses it tries it first.
"""

from __future__ import annotations

import platform
import struct
import sys
from collections.abc import Sequence

_NAME = b"clock_nanosleep"
_PAGE = 0x10000  # the largest that machines have
# The four arguments go to the system call as they come; its negative answer is the error's number.
_MACHINES = {
    # mov r10, rcx; mov eax, 230; syscall; neg eax; ret
    "x86_64": (62, bytes.fromhex("4989ca b8e6000000 0f05 f7d8 c3")),
    # mov x8, #115; svc #0; neg w0, w0; ret
    "aarch64": (183, struct.pack("<4I", 0xD2800E68, 0xD4000001, 0x4B0003E0, 0xD65F03C0)),
}


def repairing_object() -> bytes | None:
    """The shared object for this machine; None if it is of a kind that is not known here."""
    known = _MACHINES.get(platform.machine())
    if sys.platform != "linux" or known is None:
        return None
    return _shared_object(*known)


def _shared_object(machine: int, code: bytes) -> bytes:
    """ELF, as little of it as a dynamic linker asks for.

    One page to read and run (headers, names, code), and one to write: the linker puts addresses
    into the dynamic section.
    """
    names = b"\0" + _NAME + b"\0"
    symbols_at = 64 + 4 * 56
    names_at = symbols_at + 2 * 24
    hash_at = (names_at + len(names) + 7) & ~7
    code_at = (hash_at + 5 * 4 + 15) & ~15
    dynamic = _pairs([(4, hash_at), (5, names_at), (6, symbols_at), (10, len(names)), (11, 24)])
    symbols = bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, 0, 1, code_at, len(code))
    table = struct.pack("<5I", 1, 2, 1, 0, 0)  # one bucket, two symbols, the chain ends
    elf = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)
    elf += struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 64, 0, 0, 64, 56, 4, 0, 0, 0)
    read_and_run, read_and_write = 5, 6
    load, dynamic_segment, stack = 1, 2, 0x6474E551
    end = code_at + len(code)
    for kind, rights, start, size in (
        (load, read_and_run, 0, end),
        (load, read_and_write, _PAGE, len(dynamic)),
        (dynamic_segment, read_and_write, _PAGE, len(dynamic)),
        (stack, read_and_write, 0, 0),  # else the linker makes it one that can be run
    ):
        elf += struct.pack("<IIQQQQQQ", kind, rights, start, start, start, size, size, _PAGE)
    for place, part in ((symbols_at, symbols), (names_at, names), (hash_at, table)):
        elf = elf.ljust(place, b"\0") + part
    elf = elf.ljust(code_at, b"\0") + code
    return elf.ljust(_PAGE, b"\0") + dynamic


def _pairs(entries: Sequence[tuple[int, int]]) -> bytes:
    return b"".join(struct.pack("<qQ", *entry) for entry in (*entries, (0, 0)))
