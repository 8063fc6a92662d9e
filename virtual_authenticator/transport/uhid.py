"""A key that the Linux kernel takes for a plugged-in one, through /dev/uhid (linux/uhid.h).

Browsers, OpenSSH and libfido2 then find it as a hidraw device. Needs the kernel's uhid module and
the right to open its node. Does not know what packets mean.
"""

from __future__ import annotations

import os
import select
import struct
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from .hid import KEEPALIVE_INTERVAL, PRODUCT, PRODUCT_ID, VENDOR_ID
from .packets import PACKET
from .serving import ServedKey

if TYPE_CHECKING:
    from ..authenticator import Authenticator

NODE = "/dev/uhid"
REPORT_DESCRIPTOR = bytes.fromhex(
    "06d0f1"  # usage page: FIDO alliance
    "0901"  # usage: U2F HID authenticator device
    "a101"  # collection: application
    "0920 1500 26ff00 7508 9540 8102"  # input reports of 64 bytes
    "0921 1500 26ff00 7508 9540 9102"  # output reports of 64 bytes
    "c0"
)
"""CTAP 2.3, section 11.2.8.2."""

_DESTROY, _OUTPUT, _GET_REPORT, _GET_REPORT_REPLY = 1, 6, 9, 10
_CREATE, _INPUT, _SET_REPORT, _SET_REPORT_REPLY = 11, 12, 13, 14
_CREATE_EVENT = struct.Struct("=L128s64s64sHHLLLL4096s")
_OUTPUT_EVENT = struct.Struct("=L4096sHB")
_LARGEST_EVENT = _CREATE_EVENT.size
_BUS_USB = 0x03
_NOT_SUPPORTED = 95
"""EOPNOTSUPP"""


class UhidKey(ServedKey):
    """Plugged in while the block lasts."""

    def __init__(self, authenticator: Authenticator, node: str | int = NODE) -> None:
        """`node` is its path, or a file descriptor that is open already."""
        super().__init__(authenticator)
        self._node = node

    def _open(self) -> None:
        self._file = self._node if isinstance(self._node, int) else _open_node(self._node)
        os.write(self._file, _create())

    def _step(self) -> None:
        readable, _, _ = select.select([self._file], [], [], KEEPALIVE_INTERVAL)
        if readable:
            event = b""
            with suppress(OSError):
                event = os.read(self._file, _LARGEST_EVENT)
            if event:
                self._handle(event)
            else:
                self._stop.set()  # nobody is at the other end any more

    def _send(self, packet: bytes) -> None:
        if packet:
            with suppress(OSError):  # nobody is there to read it
                os.write(self._file, struct.pack("=LH", _INPUT, len(packet)) + packet)

    def _close(self) -> None:
        with suppress(OSError):  # the kernel may have let go of it already
            os.write(self._file, struct.pack("=L", _DESTROY))
        os.close(self._file)

    def _handle(self, event: bytes) -> None:
        kind = int.from_bytes(event[:4], sys.byteorder)
        if kind == _OUTPUT:
            _, data, size, _ = _OUTPUT_EVENT.unpack(event[: _OUTPUT_EVENT.size])
            report = data[:size]
            # hidraw's writers put the number of the report, 0, before it.
            self.key.receive(report[1:] if size == PACKET + 1 else report)
        elif kind in (_GET_REPORT, _SET_REPORT):
            # Nothing asks a FIDO device for these, but the kernel waits for an answer.
            reply = _GET_REPORT_REPLY if kind == _GET_REPORT else _SET_REPORT_REPLY
            answer = struct.pack("=L", reply) + event[4:8] + struct.pack("=H", _NOT_SUPPORTED)
            os.write(self._file, answer + bytes(2) if kind == _GET_REPORT else answer)


def _open_node(path: str) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{path}: there is no such node; load the kernel's module first: modprobe uhid"
        ) from None
    except PermissionError:
        raise PermissionError(
            f"{path}: may not be opened; run as root, or give yourself the right to it"
        ) from None


def _create() -> bytes:
    descriptor = REPORT_DESCRIPTOR
    return _CREATE_EVENT.pack(
        _CREATE,
        PRODUCT.encode(),
        b"",
        b"",
        len(descriptor),
        _BUS_USB,
        VENDOR_ID,
        PRODUCT_ID,
        0,
        0,
        descriptor,
    )
