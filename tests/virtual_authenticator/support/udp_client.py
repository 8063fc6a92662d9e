"""A client of a key on UDP: python-fido2's CtapHidDevice, with a connection of datagrams."""

from __future__ import annotations

import socket

from fido2.hid import CtapHidDevice
from fido2.hid.base import CtapHidConnection, HidDescriptor

PACKET = 64
DEADLINE = 20.0


class UdpConnection(CtapHidConnection):
    """A client's end, as clients of emulated keys have it."""

    def __init__(self, port, local_port=0):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", local_port))
        self.socket.settimeout(DEADLINE)
        self.address = ("127.0.0.1", port)

    def read_packet(self):
        return self.socket.recv(PACKET)

    def write_packet(self, data):
        self.socket.sendto(data, self.address)

    def close(self):
        self.socket.close()


def over_udp(port):
    descriptor = HidDescriptor("udp", 0, 0, PACKET, PACKET, None, None)
    return CtapHidDevice(descriptor, UdpConnection(port))
