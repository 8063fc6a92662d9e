"""The key on UHID, with a pair of sockets in the kernel's place: the events are the kernel's own,
but whether a real kernel takes them can only be seen where there is a node."""

from __future__ import annotations

import os
import socket
import struct
from pathlib import Path

import pytest
from fido2.ctap2 import Ctap2
from fido2.hid import CtapHidDevice, list_devices
from fido2.hid.base import CtapHidConnection, HidDescriptor, parse_report_descriptor

from virtual_authenticator import Authenticator
from virtual_authenticator.transport import UhidKey
from virtual_authenticator.transport.packets import PACKET
from virtual_authenticator.transport.uhid import NODE, REPORT_DESCRIPTOR

CREATE2, DESTROY, OUTPUT, INPUT2 = 11, 1, 6, 12
GET_REPORT, GET_REPORT_REPLY, SET_REPORT, SET_REPORT_REPLY = 9, 10, 13, 14


class Kernel(CtapHidConnection):
    """The other end: makes events of a hidraw user's packets, and packets of the key's events."""

    def __init__(self):
        self.socket, self.node = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(20)
        self.numbered = True

    def event(self):
        data = self.socket.recv(8192)
        return int.from_bytes(data[:4], "little"), data[4:]

    def read_packet(self):
        kind, data = self.event()
        assert kind == INPUT2
        (size,) = struct.unpack_from("<H", data)
        return data[2 : 2 + size]

    def write_packet(self, data):
        report = b"\0" + data if self.numbered else data
        self.socket.send(struct.pack("<L4096sHB", OUTPUT, report, len(report), 1))

    def close(self):
        self.socket.close()


@pytest.fixture
def kernel():
    made = Kernel()
    yield made
    made.close()


def test_it_introduces_itself_as_a_fido_device(key, kernel):
    with UhidKey(key, kernel.node.detach()):
        kind, data = kernel.event()
        name, _, _, size, bus, vendor, product = struct.unpack_from("<128s64s64sHHLL", data)
        descriptor = data[280 - 4 :][:size]

        assert kind == CREATE2
        assert name.rstrip(b"\0") == b"Virtual authenticator"
        assert (bus, vendor, product) == (3, 0x1209, 0x0001)
        assert descriptor == REPORT_DESCRIPTOR
        assert parse_report_descriptor(descriptor) == (PACKET, PACKET)
        assert len(data) == 4372  # the size of struct uhid_create2_req
    assert kernel.event() == (DESTROY, b"")


@pytest.mark.parametrize("numbered", [True, False])
def test_packets_go_both_ways(key, kernel, numbered):
    kernel.numbered = numbered
    with UhidKey(key, kernel.node.detach()):
        kernel.event()
        descriptor = HidDescriptor(NODE, 0, 0, PACKET, PACKET, None, None)
        device = CtapHidDevice(descriptor, kernel)
        assert device.ping(bytes(300)) == bytes(300)
        Ctap2(device).selection()


@pytest.mark.parametrize(
    ("asked", "reply", "size"),
    [(GET_REPORT, GET_REPORT_REPLY, 8), (SET_REPORT, SET_REPORT_REPLY, 6)],
)
def test_reports_that_it_does_not_have_are_answered(key, kernel, asked, reply, size):
    with UhidKey(key, kernel.node.detach()):
        kernel.event()
        kernel.socket.send(struct.pack("<LLBB", asked, 77, 0, 0))
        kind, data = kernel.event()
        number, error = struct.unpack_from("<LH", data)
    assert (kind, number, error, len(data)) == (reply, 77, 95, size)


def test_a_kernel_that_lets_go_ends_it(key, kernel, eventually):
    with UhidKey(key, kernel.node.detach()) as plugged:
        kernel.close()
        eventually(plugged._stop.is_set)


def test_a_node_that_cannot_be_opened_says_what_to_do(key, tmp_path, monkeypatch):
    node = str(tmp_path / "uhid")
    with pytest.raises(FileNotFoundError, match="modprobe uhid"), UhidKey(key, node):
        pass

    def forbid(*_):
        raise PermissionError(13, "Permission denied", node)

    monkeypatch.setattr(os, "open", forbid)  # to root nothing is forbidden otherwise
    with pytest.raises(PermissionError, match="run as root"), UhidKey(key, node):
        pass


@pytest.mark.skipif(not os.access(NODE, os.R_OK | os.W_OK), reason=f"no {NODE} to write to here")
def test_a_real_kernel(eventually):
    """Where there is a node: python-fido2 finds the key among the machine's own devices."""
    key = Authenticator()

    def found():
        return [one for one in list_devices() if one.product_name == "Virtual authenticator"]

    with UhidKey(key):
        eventually(lambda: any(Path("/dev").glob("hidraw*")) and found())
        Ctap2(found()[0]).selection()
