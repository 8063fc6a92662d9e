"""python-fido2's CtapHidDevice and its clients over packets, in this process and over UDP."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from fido2.client import DefaultClientDataCollector, Fido2Client, UserInteraction
from fido2.ctap import CtapError
from fido2.ctap1 import Ctap1
from fido2.ctap2 import ClientPin, Ctap2, LargeBlobs
from fido2.hid import CAPABILITY, CtapHidDevice
from fido2.server import Fido2Server
from fido2.webauthn import PublicKeyCredentialRpEntity, PublicKeyCredentialUserEntity

from tests.virtual_authenticator.support.udp_client import UdpConnection, over_udp
from virtual_authenticator import Authenticator, Gesture, cbor, faults
from virtual_authenticator.transport import HidKey, UdpServer, hid_device
from virtual_authenticator.transport.packets import BROADCAST, Command, message

DEADLINE = 20.0


@pytest.fixture(params=["in process", "udp"])
def plugged(request, key):
    """Opens the key: each call is one more client."""
    opened: list[CtapHidDevice] = []

    def remember(device):
        opened.append(device)
        return device

    if request.param == "in process":
        yield lambda: remember(hid_device(key))
    else:
        with UdpServer(key) as server:
            yield lambda: remember(over_udp(server.port))
    for device in opened:
        device.close()


# ---- the whole way


def test_a_client_registers_and_signs_in(plugged, key):
    class Holder(UserInteraction):
        def request_pin(self, permissions, rp_id):
            return "2468"

    device = plugged()
    ClientPin(Ctap2(device)).set_pin("2468")
    client = Fido2Client(device, DefaultClientDataCollector("https://example.org"), Holder())
    server = Fido2Server(PublicKeyCredentialRpEntity(id="example.org", name="Example"))
    asked, state = server.register_begin(PublicKeyCredentialUserEntity(id=b"a", name="a"))
    made = client.make_credential(asked.public_key)
    credential = server.register_complete(state, made).credential_data
    assert credential is not None

    request, state = server.authenticate_begin([credential])
    got = client.get_assertion(request.public_key).get_response(0)
    assert server.authenticate_complete(state, [credential], got) == credential
    assert credential.credential_id == key.credentials[0].id


def test_long_messages_both_ways(plugged):
    device = plugged()
    assert device.ping(bytes(range(256)) * 16) == bytes(range(256)) * 16
    blobs = LargeBlobs(Ctap2(device))
    noise = bytes((n * 7919 >> 3) % 256 for n in range(1100))
    blobs.put_blob(bytes(32), noise)
    assert blobs.get_blob(bytes(32)) == noise


def test_what_the_device_says_of_itself(plugged, key):
    device = plugged()
    assert device.version == 2
    assert device.device_version == (1, 0, 0)
    assert device.capabilities == key.ctap.capabilities == CAPABILITY.WINK | CAPABILITY.CBOR
    device.wink()


def test_u2f_too(plugged):
    assert Ctap1(plugged()).get_version() == "U2F_V2"


def test_a_refusal_is_an_error(plugged, key):
    key.core.settings.always_uv = True
    with pytest.raises(CtapError) as caught:
        Ctap1(plugged()).get_version()
    assert caught.value.code.name == "INVALID_COMMAND"


# ---- waiting


def test_the_client_hears_that_a_touch_is_waited_for_and_cancels(plugged, waiting, cancelling):
    ctap = Ctap2(plugged())
    assert cancelling(ctap) == ([2], "KEEPALIVE_CANCEL")
    waiting.person.always = Gesture.APPROVE
    ctap.selection()


def test_others_find_it_busy_meanwhile(waiting):
    with UdpServer(waiting) as server, ThreadPoolExecutor(1) as pool:
        mine, other = Ctap2(over_udp(server.port)), over_udp(server.port)
        cancelled, asked = threading.Event(), threading.Event()
        call = pool.submit(mine.selection, event=cancelled, on_keepalive=lambda _: asked.set())
        assert asked.wait(DEADLINE)
        with pytest.raises(CtapError) as caught:
            once(other)
        assert caught.value.code.name == "CHANNEL_BUSY"
        cancelled.set()
        assert isinstance(call.exception(DEADLINE), CtapError)
        assert once(other) == b"x"
        for device in (mine.device, other):
            device.close()


def once(device):
    """A ping that is not repeated while the device is busy."""
    return device._do_call(Command.PING, b"x", threading.Event(), None)


def test_a_lock(key):
    with UdpServer(key) as server:
        mine, other = over_udp(server.port), over_udp(server.port)
        mine.lock(10)
        with pytest.raises(CtapError) as caught:
            once(other)
        assert caught.value.code.name == "CHANNEL_BUSY"
        assert mine.ping(b"x") == b"x"
        mine.lock(0)
        assert other.ping(b"x") == b"x"
        for device in (mine, other):
            device.close()


# ---- a key that is taken out, and faults


def test_a_key_that_is_taken_out(key):
    ctap = Ctap2(hid_device(key))
    key.person.will(Gesture.REMOVE)
    with pytest.raises(OSError, match="taken out"):
        ctap.selection()
    with pytest.raises(OSError, match="taken out"):
        ctap.get_info()
    key.ctap.power_cycle()
    Ctap2(hid_device(key)).selection()


def test_over_udp_it_falls_silent_and_comes_back_without_its_channels(key, eventually):
    with UdpServer(key) as server:
        device = over_udp(server.port)
        key.person.will(Gesture.REMOVE)
        for packet in message(device._channel_id, Command.CBOR, b"\x0b"):
            device._connection.write_packet(packet)
        eventually(lambda: key.ctap.processor.session.removed)
        key.ctap.power_cycle()
        eventually(lambda: server.key.failure is not None)
        with pytest.raises(CtapError) as caught:
            device.ping()
        assert caught.value.code.name == "INVALID_CHANNEL"
        device.close()
        again = over_udp(server.port)
        assert again.ping(b"x") == b"x"
        again.close()


def assertion_of(key):
    """A request for an assertion, in which an attestation fault has nothing to change."""
    Ctap2(hid_device(key)).make_credential(
        bytes(32), {"id": "example.org"}, {"id": b"a"}, [{"type": "public-key", "alg": -7}]
    )
    allow = [{"id": key.credentials[0].id, "type": "public-key"}]
    return b"\x02" + cbor.encode({1: "example.org", 2: bytes(32), 3: allow})


def test_an_impossible_fault_reaches_the_test(key):
    request = assertion_of(key)
    device = hid_device(key)
    with key.faulty("broken-x5c"), pytest.raises(faults.FaultError):
        device.call(Command.CBOR, request)


def test_an_impossible_fault_reaches_it_over_udp_in_the_end(key, eventually):
    request = assertion_of(key)
    server = UdpServer(key)

    def run():
        with server, key.faulty("broken-x5c"):
            device = over_udp(server.port)
            for packet in message(device._channel_id, Command.CBOR, request):
                device._connection.write_packet(packet)
            eventually(lambda: server.key.failure is not None)
            device.close()

    with pytest.raises(faults.FaultError):
        run()


# ---- the server itself


def test_a_client_that_listens_on_another_port(key):
    """As the simulations of some keys do: they send from one port and listen on another."""
    listener = UdpConnection(0)
    with UdpServer(key, reply_port=listener.socket.getsockname()[1]) as server:
        sender = UdpConnection(server.port)
        for packet in message(BROADCAST, Command.INIT, bytes(8)):
            sender.write_packet(packet)
        assert listener.read_packet()[:7] == b"\xff\xff\xff\xff\x86\x00\x11"
        sender.close()
    listener.close()


def test_a_port_that_is_taken(key):
    with (
        UdpServer(key) as server,
        pytest.raises(OSError, match="in use"),
        UdpServer(key, server.port),
    ):
        pass


def test_leaving_ends_what_is_under_way(waiting, eventually):
    with UdpServer(waiting) as server:
        device = over_udp(server.port)
        for packet in message(device._channel_id, Command.CBOR, b"\x0b"):
            device._connection.write_packet(packet)
        eventually(lambda: server.key._call is not None)
    assert server.key._call is not None
    assert server.key._call.done.is_set()
    device.close()


def test_two_keys_share_nothing():
    first, second = Authenticator(), Authenticator()
    sent: dict[str, list[bytes]] = {"first": [], "second": []}
    HidKey(first, sent["first"].append)
    HidKey(second, sent["second"].append).receive(next(message(BROADCAST, Command.INIT, bytes(8))))
    assert [len(packets) for packets in sent.values()] == [0, 1]
