"""The authenticator as a python-fido2 `CtapDevice`, which its classes drive like a plugged-in key.

Plays CTAPHID's part down to the commands, not the packets. Does not know what messages mean.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterator
from threading import Event, Lock

from fido2.ctap import STATUS, CtapDevice, CtapError
from fido2.hid import CAPABILITY, CTAPHID

from ..core import Core
from .processor import CtapProcessor

_alive: weakref.WeakValueDictionary[int, VirtualCtapDevice] = weakref.WeakValueDictionary()
"""By number, so that they are listed in the order of their creation."""
_numbers = itertools.count()
_alive_lock = Lock()


class VirtualCtapDevice(CtapDevice):
    """One virtual key.

    `call` raises `CtapError` where a CTAPHID_ERROR would come back, an OSError once the person has
    taken the key out, and `FaultError` when a test asked for an impossible fault (an error of the
    test).
    """

    def __init__(self, core: Core) -> None:
        self.processor = CtapProcessor(core)
        with _alive_lock:
            _alive[next(_numbers)] = self

    def __repr__(self) -> str:
        return f"VirtualCtapDevice({self.processor.core.profile.name!r})"

    @property
    def capabilities(self) -> int:
        session = self.processor.session
        cbor = CAPABILITY.CBOR if session.features.ctap2 else 0
        no_messages = 0 if session.u2f else CAPABILITY.NMSG
        return int(CAPABILITY.WINK | cbor | no_messages)

    def call(
        self,
        cmd: int,
        data: bytes = b"",
        event: Event | None = None,
        on_keepalive: Callable[[STATUS], None] | None = None,
    ) -> bytes:
        """Send a CTAPHID command and return the answer."""
        if cmd == CTAPHID.CBOR and self.capabilities & CAPABILITY.CBOR:
            return self.processor.process(data, event, _only_changes(on_keepalive))
        if cmd == CTAPHID.MSG and not self.capabilities & CAPABILITY.NMSG:
            return self.processor.process_apdu(data)
        if cmd == CTAPHID.PING:
            return bytes(data)
        if cmd == CTAPHID.WINK:
            return b""
        raise CtapError(CtapError.ERR.INVALID_COMMAND)

    def close(self) -> None:
        """Let go of the key. It stays plugged in, and can be called and listed again."""

    def power_cycle(self) -> None:
        """Take the key out and plug it in again: tokens, key agreement keys, the lock after three
        wrong PINs and half-done enumerations are gone, and a reset is possible for ten seconds."""
        self.processor.power_cycle()

    @classmethod
    def list_devices(cls) -> Iterator[VirtualCtapDevice]:
        """The virtual keys that are plugged in, in this process."""
        with _alive_lock:
            devices = list(_alive.values())
        for device in devices:
            if not device.processor.session.removed:
                yield device


def _only_changes(
    on_keepalive: Callable[[STATUS], None] | None,
) -> Callable[[int], None] | None:
    """python-fido2 promises one callback for a series of equal keepalive messages."""
    if on_keepalive is None:
        return None
    last: STATUS | None = None

    def notify(status: int) -> None:
        nonlocal last
        if status != last:
            last = STATUS(status)
            on_keepalive(last)

    return notify
