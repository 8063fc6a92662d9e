"""The authenticator behind a real transport: CTAPHID packets, over a connection in this process,
UDP on the loopback or the kernel's UHID, and NFC APDUs.

    device = hid_device(key)            # python-fido2's CtapHidDevice, packet by packet
    with UdpServer(key) as server: ...  # for clients in other processes
    with UhidKey(key): ...              # for browsers and OpenSSH on this Linux machine
    card = NfcCard(key)

Knows of a key only what python-fido2's `CtapDevice` shows: capabilities and calls.
"""

from .hid import HidKey, PacketConnection, hid_device
from .nfc import NfcCard
from .udp import UdpServer
from .uhid import UhidKey

__all__ = ["HidKey", "NfcCard", "PacketConnection", "UdpServer", "UhidKey", "hid_device"]
