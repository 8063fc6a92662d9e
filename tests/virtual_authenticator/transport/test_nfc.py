"""NFC APDUs, by hand and by python-fido2's CtapPcscDevice (section 11.3)."""

from __future__ import annotations

import importlib
import sys
import types

import pytest
from fido2.ctap1 import Ctap1
from fido2.ctap2 import ClientPin, CredentialManagement, Ctap2
from hypothesis import given, settings
from hypothesis import strategies as st

from virtual_authenticator import Authenticator, Gesture, ManualClock
from virtual_authenticator.transport import NfcCard

SELECT = bytes.fromhex("00A4040008A0000006472F000100")
GET_INFO = bytes.fromhex("8010000001 04 00")


@pytest.fixture
def card(key):
    made = NfcCard(key)
    assert made.transmit(SELECT) == b"U2F_V2\x90\x00"
    return made


class Connection:
    """A reader with the card on it, as pyscard presents one."""

    def __init__(self, card):
        self.card = card

    def connect(self):
        self.card.disconnect()

    def disconnect(self):
        self.card.disconnect()

    def transmit(self, apdu, protocol=None):
        answer = self.card.transmit(bytes(apdu))
        return list(answer[:-2]), answer[-2], answer[-1]


@pytest.fixture
def pcsc(monkeypatch):
    """python-fido2's module for readers, on a machine without pyscard: only names are stood in."""
    for name, members in {
        "smartcard": ["System"],
        "smartcard.CardConnection": ["CardConnection"],
        "smartcard.CardConnectionDecorator": ["CardConnectionDecorator"],
        "smartcard.pcsc": [],
        "smartcard.pcsc.PCSCExceptions": ["ListReadersException"],
    }.items():
        module = types.ModuleType(name)
        for member in members:
            setattr(module, member, type(member, (Exception,), {}))
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "fido2.pcsc", raising=False)
    yield importlib.import_module("fido2.pcsc")
    sys.modules.pop("fido2.pcsc", None)


# ---- python-fido2


@pytest.mark.parametrize("extended", [False, True])
@pytest.mark.parametrize("polls", [False, True])
def test_a_reader_drives_it(pcsc, key, extended, polls):
    device = pcsc.CtapPcscDevice(Connection(NfcCard(key)), "virtual")
    device.use_ext_apdu, device.use_nfcctap_getresponse = extended, polls
    ctap = Ctap2(device)
    pins = ClientPin(ctap)
    pins.set_pin("2468")
    token = pins.get_pin_token("2468", ClientPin.PERMISSION.MAKE_CREDENTIAL, "example.org")
    made = ctap.make_credential(
        bytes(32),
        {"id": "example.org", "name": "x" * 300},  # a request of several APDUs
        {"id": b"a", "name": "a"},
        [{"type": "public-key", "alg": -7}],
        options={"rk": True},
        pin_uv_param=pins.protocol.authenticate(token, bytes(32)),
        pin_uv_protocol=pins.protocol.VERSION,
    )
    token = pins.get_pin_token("2468", ClientPin.PERMISSION.CREDENTIAL_MGMT)

    assert len(made.att_stmt["x5c"][0]) > 256  # an answer of several, too
    assert len(CredentialManagement(ctap, pins.protocol, token).enumerate_rps()) == 1
    assert Ctap1(device).get_version() == "U2F_V2"
    device.close()


def test_a_reader_waits_and_cancels(pcsc, waiting, cancelling):
    ctap = Ctap2(pcsc.CtapPcscDevice(Connection(NfcCard(waiting)), "virtual"))
    assert cancelling(ctap) == ([2], "KEEPALIVE_CANCEL")


# ---- by hand


@pytest.mark.parametrize(
    ("shape", "answer"), [("security-key-nfc", b"U2F_V2"), ("security-key-biometric", b"FIDO_2_0")]
)
def test_selecting(shape, answer):
    card = NfcCard(Authenticator(shape))
    assert card.transmit(GET_INFO) == b"\x69\x85"  # not before it is selected
    assert card.transmit(SELECT[:-2] + b"\x02\x00") == b"\x6a\x82"
    assert card.transmit(SELECT) == answer + b"\x90\x00"


def test_answers_in_pieces(card, key):
    whole = key.ctap.processor.process(b"\x04")
    got, word = b"", b"\x61\x00"
    answer = card.transmit(bytes.fromhex("8010000001 04 40"))  # 64 bytes at a time
    while True:
        got, word = got + answer[:-2], answer[-2:]
        if word[0] != 0x61:
            break
        assert len(answer) == 66
        answer = card.transmit(b"\x00\xc0\x00\x00\x40")
    assert (got, word) == (whole, b"\x90\x00")
    assert card.transmit(b"\x00\xc0\x00\x00\x40") == b"\x90\x00"
    long = card.transmit(bytes.fromhex("80100000 000001 04 0000"))
    assert long == whole + b"\x90\x00"


def test_commands_in_pieces(card):
    assert card.transmit(bytes.fromhex("9010000001 04")) == b"\x90\x00"  # more is to come
    assert card.transmit(bytes.fromhex("8010000001 A0 00")) == b"\x03\x90\x00"  # 04A0: too long
    card.transmit(bytes.fromhex("9010000001 0A"))
    assert card.transmit(bytes.fromhex("0003000000")) == b"U2F_V2\x90\x00"  # another command
    assert card.transmit(GET_INFO)[0] == 0  # which the chain went with
    for _ in range(16):
        card.transmit(bytes.fromhex("90100000FF") + bytes(255))
    assert card.transmit(bytes.fromhex("90100000FF") + bytes(255)) == b"\x67\x00"


@pytest.mark.parametrize(
    ("apdu", "word"),
    [
        ("", "6700"),
        ("801000", "6700"),
        ("8010000005 04", "6700"),
        ("80100000 000005 04", "6700"),
        ("8010010001 04 00", "6a86"),
        ("8010000101 04 00", "6a86"),
        ("8099000000", "6d00"),
        ("0099000000", "6d00"),
        ("4010000001 04 00", "6e00"),
        ("80110000", "6985"),
    ],
)
def test_apdus_that_are_wrong(card, apdu, word):
    assert card.transmit(bytes.fromhex(apdu)).hex() == word
    assert card.transmit(GET_INFO)[0] == 0


def test_the_end(card):
    assert card.transmit(bytes.fromhex("80120100")) == b"\x90\x00"
    assert card.transmit(GET_INFO) == b"\x69\x85"


def test_polling_with_wrong_parameters(waiting):
    card = NfcCard(waiting)
    card.transmit(SELECT)
    assert card.transmit(bytes.fromhex("8010800001 0B 00"))[-2:] == b"\x91\x00"
    assert card.transmit(bytes.fromhex("80112200")) == b"\x6a\x86"
    assert card.transmit(bytes.fromhex("80110000")) == b"\x02\x91\x00"
    # A new message makes way with the old one, and is answered itself.
    assert card.transmit(GET_INFO)[0] == 0
    card.transmit(bytes.fromhex("8010800001 0B 00"))
    card.disconnect()


def test_a_key_that_is_taken_away(card, key):
    key.person.will(Gesture.REMOVE)
    with pytest.raises(OSError, match="taken out"):
        card.transmit(bytes.fromhex("8010000001 0B 00"))


@settings(max_examples=80, deadline=None, database=None)
@given(
    st.lists(
        st.binary(max_size=12)
        | st.builds(
            lambda cla, ins, rest: bytes([cla, ins]) + rest,
            st.sampled_from([0x00, 0x10, 0x80, 0x90]),
            st.sampled_from([0x01, 0x02, 0x03, 0x10, 0x11, 0x12, 0xA4, 0xC0]),
            st.binary(min_size=2, max_size=20),
        ),
        max_size=6,
    )
)
def test_whatever_a_reader_sends(apdus):
    card = NfcCard(SHARED)
    card.transmit(SELECT)
    for apdu in apdus:
        assert len(card.transmit(apdu)) >= 2
    card.disconnect()
    assert card.transmit(SELECT) == b"U2F_V2\x90\x00"
    assert not [entry for entry in SHARED.log if entry.what == "ctap-defect"]


SHARED = Authenticator("security-key-nfc", clock=ManualClock(), seed="nfc")
