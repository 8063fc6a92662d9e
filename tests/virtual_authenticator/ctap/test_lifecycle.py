"""The device around its commands: touch, reset, power, cancellation, removal, threads, journal."""

from __future__ import annotations

import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from fido2.ctap import STATUS, CtapError
from fido2.hid import CTAPHID

from virtual_authenticator import Authenticator, Gesture, SystemClock
from virtual_authenticator.ctap import CtapProcessor, DeviceRemoved, Status, VirtualCtapDevice
from virtual_authenticator.ctap.processor import Command

PIN = "2468"
HASH = bytes(range(32))


# ---- CTAPHID


def test_ping_echoes(new_key):
    assert new_key().ctap.call(CTAPHID.PING, b"anyone?") == b"anyone?"


def test_wink_has_no_answer(new_key):
    assert new_key().ctap.call(CTAPHID.WINK) == b""


@pytest.mark.parametrize(
    ("shape", "command"),
    [
        ("security-key", 0x77),
        ("security-key", CTAPHID.LOCK),
        ("u2f-key", CTAPHID.CBOR),
        ("touch-id", CTAPHID.MSG),
    ],
)
def test_an_unknown_command_is_a_ctaphid_error(new_key, shape, command):
    with pytest.raises(CtapError) as caught:
        new_key(shape).ctap.call(command, b"\x04")
    assert caught.value.code == CtapError.ERR.INVALID_COMMAND


def test_devices_are_listed_while_they_live(new_key):
    key, other = new_key(), new_key()
    devices = [key.ctap, other.ctap]
    listed = list(VirtualCtapDevice.list_devices())
    assert [one for one in listed if one in devices] == devices

    with devices[0] as device:
        pass
    assert device in VirtualCtapDevice.list_devices()  # let go of, still plugged in
    assert device.call(CTAPHID.PING, b"x") == b"x"

    number = len(list(VirtualCtapDevice.list_devices()))
    del key, device, devices, listed
    gc.collect()
    assert len(list(VirtualCtapDevice.list_devices())) < number


# ---- messages


@pytest.mark.parametrize(
    ("message", "status"),
    [
        (b"", Status.INVALID_LENGTH),
        (b"\x03", Status.INVALID_COMMAND),
        (b"\x09\xa0", Status.INVALID_COMMAND),
        (b"\x0e\xa0", Status.INVALID_COMMAND),
        (b"\xff", Status.INVALID_COMMAND),
        (b"\x04\xa0", Status.INVALID_LENGTH),
        (b"\x01", Status.MISSING_PARAMETER),
        (b"\x01\xa0", Status.MISSING_PARAMETER),
        (b"\x01\xa1", Status.INVALID_CBOR),
        (b"\x01\xa0\x00", Status.INVALID_CBOR),
        (b"\x01\xbf\xff", Status.INVALID_CBOR),  # indefinite length
        (b"\x01\xa2\x02\x00\x01\x00", Status.INVALID_CBOR),  # keys out of order
        (b"\x01\xa2\x01\x00\x01\x00", Status.INVALID_CBOR),  # a key twice
        (b"\x01\xa1\x18\x01\x00", Status.INVALID_CBOR),  # 1 in two bytes
        (b"\x01\xa1\x01\xf9\x00\x00", Status.INVALID_CBOR),  # a float
        (b"\x01\x80", Status.CBOR_UNEXPECTED_TYPE),
        (b"\x01\xa1\x01\x00", Status.CBOR_UNEXPECTED_TYPE),
        (b"\x01" + bytes(1536), Status.REQUEST_TOO_LARGE),
        (b"\x04" + bytes(1536), Status.REQUEST_TOO_LARGE),
    ],
    ids=lambda value: value[:8].hex() if isinstance(value, bytes) else value.name,
)
def test_malformed_messages(new_key, message, status):
    assert new_key().ctap.processor.process(message) == bytes([status])


@pytest.mark.parametrize(("shape", "known"), [("security-key", True), ("security-key-2.0", False)])
def test_selection_came_with_2_1(new_key, shape, known):
    answer = new_key(shape).ctap.processor.process(b"\x0b")
    assert answer == (b"\x00" if known else b"\x01")


def test_a_u2f_key_knows_no_ctap2_command(new_key):
    processor = new_key("u2f-key").ctap.processor
    assert {processor.process(bytes([number])) for number in range(256)} == {b"\x01"}


def test_a_command_can_be_added(new_key):
    processor = CtapProcessor(new_key().core)
    processor.commands[0x40] = Command("ours", lambda *_: {1: 2})

    assert processor.process(b"\x40\xa0") == b"\x00\xa1\x01\x02"
    assert 0x40 not in CtapProcessor(new_key().core).commands


def test_a_defect_is_neither_success_nor_silence(new_key):
    key = new_key()

    def broken(session, parameters, interaction):
        raise ZeroDivisionError("a defect")

    key.ctap.processor.commands[0x0D] = Command("config", broken)

    assert key.ctap.processor.process(b"\x0d\xa0") == bytes([Status.OTHER])
    defect, ended = list(key.log)[-2:]
    assert defect.what == "ctap-defect"
    assert defect.details["error"] == "ZeroDivisionError: a defect"
    assert ended.details == {"command": "config", "status": "OTHER"}


# ---- the person


@pytest.mark.parametrize(
    ("gesture", "status"),
    [
        (Gesture.APPROVE, "SUCCESS"),
        (Gesture.WRONG_FINGER, "SUCCESS"),  # any finger proves presence
        (Gesture.DECLINE, "OPERATION_DENIED"),
        (Gesture.IGNORE, "USER_ACTION_TIMEOUT"),
    ],
)
def test_selection(new_key, gesture, status):
    key = new_key()
    key.person.will(gesture)
    assert key.ctap.processor.process(b"\x0b") == bytes([Status[status]])


def test_waiting_takes_thirty_seconds_and_keeps_the_line_alive(new_key, clock):
    key = new_key()
    key.person.will(Gesture.IGNORE)
    start, alive = clock.now(), []
    key.ctap.processor.process(b"\x0b", on_keepalive=lambda _: alive.append(clock.now()))

    assert clock.now() - start == pytest.approx(30)
    assert len(alive) >= 300
    assert max(b - a for a, b in pairwise(alive)) <= 0.101


def test_python_fido2_hears_of_a_change_only(new_key):
    key = new_key()
    key.person.will(Gesture.IGNORE)
    heard = []
    key.ctap.call(CTAPHID.CBOR, b"\x0b", on_keepalive=heard.append)
    assert heard == [STATUS.UPNEEDED]


def test_a_callback_of_the_caller_fails_for_the_caller(new_key):
    def broken(status):
        raise LookupError("in the test's own code")

    with pytest.raises(LookupError, match="own code"):
        new_key().ctap.call(CTAPHID.CBOR, b"\x0b", on_keepalive=broken)


def test_cancelled_before_it_begins(new_key):
    key = new_key()
    event = threading.Event()
    event.set()
    key.person.will(Gesture.DECLINE)

    assert key.ctap.call(CTAPHID.CBOR, b"\x0b", event) == bytes([Status.KEEPALIVE_CANCEL])
    assert list(key.person.planned) == [Gesture.DECLINE]  # nobody was asked


def test_cancelled_while_it_waits(platform_of):
    """On the real clock: the platform cancels as soon as it hears that a touch is needed."""
    key = Authenticator(clock=SystemClock())
    key.person.will(Gesture.IGNORE)
    event = threading.Event()
    with pytest.raises(CtapError) as caught:
        platform_of(key).make(event=event, on_keepalive=lambda _: event.set())
    assert caught.value.code == CtapError.ERR.KEEPALIVE_CANCEL
    assert not key.credentials


def test_a_key_that_is_taken_out(platform_of, new_key):
    key = new_key(pin=PIN)
    platform = platform_of(key)
    token = platform.token()
    key.person.will(Gesture.REMOVE)
    with pytest.raises(OSError, match="taken out") as caught:
        platform.make(token=token)
    assert isinstance(caught.value, DeviceRemoved)
    assert key.ctap not in VirtualCtapDevice.list_devices()
    with pytest.raises(DeviceRemoved):
        platform.ctap.get_info()
    with pytest.raises(DeviceRemoved):
        key.ctap.call(CTAPHID.MSG, bytes([0, 3, 0, 0]))

    key.ctap.power_cycle()

    assert key.ctap in VirtualCtapDevice.list_devices()
    with pytest.raises(CtapError) as refused:
        platform.make(token=token)
    assert refused.value.code == CtapError.ERR.PIN_AUTH_INVALID
    assert platform.make(token=platform.token())


def test_a_u2f_key_can_be_taken_out_too(new_key):
    key = new_key("u2f-key")
    key.person.will(Gesture.REMOVE)
    with pytest.raises(DeviceRemoved):
        key.ctap.call(CTAPHID.MSG, bytes([0, 1, 0, 0, 64]) + bytes(64))
    assert not key.credentials


# ---- reset


@pytest.mark.parametrize(("seconds", "heard"), [(0, True), (10, True), (10.1, False)])
def test_reset_within_ten_seconds(platform, clock, refuses, seconds, heard):
    platform.make(options={"rk": True}, token=platform.token())
    platform.authenticator.core.pin.uv_retries = 2
    clock.advance(seconds)
    if not heard:
        with refuses("NOT_ALLOWED"):
            platform.ctap.reset()
        assert platform.authenticator.credentials
        platform.authenticator.ctap.power_cycle()  # opens the window again
    token = platform.token()
    platform.ctap.reset()

    assert not platform.authenticator.credentials
    assert platform.ctap.get_info().options["clientPin"] is False
    assert platform.authenticator.core.pin.uv_retries == 5
    with refuses("PIN_AUTH_INVALID"):
        platform.make(token=token)


def test_a_reset_does_not_open_its_own_window_again(platform, clock, refuses):
    clock.advance(9)
    platform.ctap.reset()
    clock.advance(2)
    with refuses("NOT_ALLOWED"):
        platform.ctap.reset()


def test_reset_opens_a_blocked_key(platform, refuses):
    platform.authenticator.core.pin.retries = 0
    with refuses("PIN_BLOCKED"):
        platform.token()
    platform.ctap.reset()
    platform.pins.set_pin("97531")
    assert platform.token(pin="97531")


@pytest.mark.parametrize(
    ("gesture", "status"),
    [(Gesture.DECLINE, "OPERATION_DENIED"), (Gesture.IGNORE, "USER_ACTION_TIMEOUT")],
)
def test_reset_needs_a_touch(platform, refuses, gesture, status):
    platform.make()
    platform.authenticator.person.will(gesture)
    with refuses(status):
        platform.ctap.reset()
    assert platform.authenticator.credentials
    assert platform.ctap.get_info().options["clientPin"] is True


def test_credentials_survive_a_power_cycle(platform):
    made = platform.make()
    platform.authenticator.ctap.power_cycle()
    assert platform.get(allow=[made.auth_data.credential_data.credential_id])
    assert platform.token()


# ---- journal and threads


def test_the_journal_names_commands_and_statuses_but_no_secrets(platform, refuses):
    platform.authenticator.log.clear()
    token = platform.token()
    platform.make(token=token)
    with refuses("PIN_INVALID"):
        platform.token(pin="0000")

    entries = [entry.details for entry in platform.authenticator.log if entry.what == "ctap"]
    assert {"command": "makeCredential", "status": "SUCCESS"} in entries
    assert {"command": "clientPIN", "status": "PIN_INVALID"} in entries
    text = " ".join(str(entry) for entry in platform.authenticator.log)
    assert token.hex() not in text
    assert PIN not in [value for entry in entries for value in entry.values()]


def test_many_threads_one_key(new_key, platform_of):
    key = new_key()
    device = key.ctap
    start = threading.Barrier(8, timeout=30)

    def work(number):
        platform = platform_of(key)
        start.wait()
        made = [platform.make(user=bytes([97 + number])) for _ in range(5)]
        ids = [one.auth_data.credential_data.credential_id for one in made]
        return [platform.get(allow=[one]).auth_data.counter for one in ids]

    with ThreadPoolExecutor(8) as pool:
        counters = [value for values in pool.map(work, range(8)) for value in values]

    assert len(key.credentials) == 40
    assert len(set(counters)) == 40  # one counter for the whole device: no value twice
    assert device is key.ctap
