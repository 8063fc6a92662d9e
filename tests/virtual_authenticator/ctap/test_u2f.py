"""CTAP1/U2F, by python-fido2's Ctap1, and credentials that cross over to CTAP2 and back."""

from __future__ import annotations

import pytest
from fido2.cose import ES256
from fido2.ctap1 import ApduError, Ctap1
from fido2.ctap2 import Ctap2
from fido2.hid import CTAPHID
from fido2.utils import sha256

from virtual_authenticator import Authenticator, Gesture

CHALLENGE = bytes(range(32))
APPLICATION = sha256(b"example.org")


@pytest.fixture(params=["u2f-key", "security-key", "security-key-2.0"])
def key(request, new_key):
    return new_key(request.param)


def word(device, apdu):
    return device.call(CTAPHID.MSG, apdu)[-2:].hex()


def register(key):
    return Ctap1(key.ctap).register(CHALLENGE, APPLICATION)


def test_version(key):
    assert Ctap1(key.ctap).get_version() == "U2F_V2"


def test_register_and_authenticate(key):
    registered = register(key)
    registered.verify(APPLICATION, CHALLENGE)
    assert registered.certificate == key.core.identity.certificates[0]

    signed = Ctap1(key.ctap).authenticate(CHALLENGE, APPLICATION, registered.key_handle)

    signed.verify(APPLICATION, CHALLENGE, registered.public_key)
    assert signed.user_presence == 1
    again = Ctap1(key.ctap).authenticate(CHALLENGE, APPLICATION, registered.key_handle)
    assert again.counter > signed.counter


@pytest.mark.parametrize(
    ("handle", "application", "expected"),
    [
        (None, APPLICATION, "6985"),  # known: "test of user presence required"
        (None, sha256(b"example.com"), "6a80"),
        (b"unknown", APPLICATION, "6a80"),
        (b"", APPLICATION, "6a80"),
    ],
)
def test_check_only(key, handle, application, expected):
    known = register(key).key_handle
    key.person.will(Gesture.REMOVE)  # nobody may be asked
    with pytest.raises(ApduError) as caught:
        Ctap1(key.ctap).authenticate(
            CHALLENGE, application, known if handle is None else handle, check_only=True
        )
    assert f"{caught.value.code:04x}" == expected


def test_without_enforcing_presence(key):
    registered = register(key)
    handle = registered.key_handle
    data = CHALLENGE + APPLICATION + bytes([len(handle)]) + handle
    key.person.will(Gesture.REMOVE)  # nobody may be asked

    answer = Ctap1(key.ctap).send_apdu(ins=2, p1=0x08, data=data)

    assert answer[0] == 0
    ES256.from_ctap1(registered.public_key).verify(APPLICATION + answer[:5] + CHALLENGE, answer[5:])


@pytest.mark.parametrize("gesture", [Gesture.IGNORE, Gesture.DECLINE])
def test_no_touch_no_waiting(key, clock, gesture):
    before = clock.now()
    key.person.will(gesture)
    with pytest.raises(ApduError) as caught:
        register(key)
    assert caught.value.code == 0x6985
    assert clock.now() == before
    assert not key.credentials
    assert register(key)  # polled again, touched


def extended(instruction, data, p1=0, class_=0, expected=b"\0\0"):
    head = bytes([class_, instruction, p1, 0])
    return head + b"\0" + len(data).to_bytes(2, "big") + data + expected


@pytest.mark.parametrize(
    ("apdu", "expected"),
    [
        (b"", "6700"),
        (bytes(3), "6700"),
        (bytes([0x80, 3, 0, 0]), "6e00"),
        (bytes([0x00, 4, 0, 0]), "6d00"),
        (bytes([0x00, 0, 0, 0]), "6d00"),
        (bytes([0, 3, 0, 0]), "9000"),
        (bytes([0, 3, 0, 0, 0]), "9000"),
        (bytes([0, 3, 0, 0, 0, 0, 0]), "9000"),
        (bytes([0, 3, 0, 0, 1, 7]), "6700"),  # VERSION takes no data
        (bytes([0, 3, 0, 0, 2, 7]), "6700"),  # shorter than it says
        (bytes([0, 3, 0, 0, 0, 1]), "6700"),
        (extended(1, bytes(64)), "9000"),
        (extended(1, bytes(64), expected=b""), "9000"),
        (bytes([0, 1, 0, 0, 64]) + bytes(64), "9000"),
        (bytes([0, 1, 0, 0, 64]) + bytes(65), "9000"),  # with the length expected back
        (extended(1, bytes(63)), "6700"),
        (extended(1, bytes(65)), "6700"),
        (extended(1, bytes(64), expected=bytes(3)), "6700"),
        (extended(2, bytes(64), 3), "6700"),
        (extended(2, bytes(64) + b"\x05abc", 3), "6700"),
        (extended(2, bytes(64) + b"\x03abc", 3), "6a80"),
        (extended(2, bytes(64) + b"\x03abc", 0x55), "6a80"),
    ],
    ids=lambda value: value.hex()[:24] if isinstance(value, bytes) else value,
)
def test_status_words(key, apdu, expected):
    assert word(key.ctap, apdu) == expected


def test_an_unknown_control_byte(key):
    handle = register(key).key_handle
    data = CHALLENGE + APPLICATION + bytes([len(handle)]) + handle
    assert word(key.ctap, extended(2, data, 0x55)) == "6a80"
    assert word(key.ctap, extended(2, data, 0x03)) == "9000"


# ---- across protocols (CTAP 2.1, section 10)


@pytest.mark.parametrize("shape", ["security-key", "security-key-2.0"])
def test_a_u2f_credential_serves_ctap2(new_key, platform_of, refuses, shape):
    key = new_key(shape)
    registered = register(key)
    platform = platform_of(key)

    got = platform.get("example.org", [registered.key_handle])

    got.verify(CHALLENGE, ES256.from_ctap1(registered.public_key))
    assert got.user is None
    with refuses("NO_CREDENTIALS"):
        platform.get("example.com", [registered.key_handle])
    with refuses("CREDENTIAL_EXCLUDED"):
        platform.make(exclude_list=[{"type": "public-key", "id": registered.key_handle}])


def test_a_ctap2_credential_serves_u2f(new_key, platform_of):
    key = new_key()
    made = platform_of(key).make().auth_data.credential_data

    signed = Ctap1(key.ctap).authenticate(CHALLENGE, APPLICATION, made.credential_id)

    public_key = b"\x04" + made.public_key[-2] + made.public_key[-3]
    signed.verify(APPLICATION, CHALLENGE, public_key)


def test_a_pages_credential_serves_u2f(new_key):
    key = new_key()
    key.create(
        {
            "rp": {"id": "example.org", "name": "Example"},
            "user": {"id": "YWxpY2U", "name": "alice", "displayName": "Alice"},
            "challenge": "AAAA",
            "pubKeyCredParams": [{"type": "public-key", "alg": -7}],
        },
        "https://example.org",
    )
    handle = key.credentials[0].id
    assert Ctap1(key.ctap).authenticate(CHALLENGE, APPLICATION, handle).user_presence == 1


@pytest.mark.parametrize(("level", "usable"), [(1, True), (2, True), (3, False)])
def test_u2f_cannot_reach_what_needs_verification(new_key, platform_of, level, usable):
    key = new_key()
    made = platform_of(key).make(extensions={"credProtect": level})
    handle = made.auth_data.credential_data.credential_id
    if usable:
        assert Ctap1(key.ctap).authenticate(CHALLENGE, APPLICATION, handle)
    else:
        with pytest.raises(ApduError) as caught:
            Ctap1(key.ctap).authenticate(CHALLENGE, APPLICATION, handle)
        assert caught.value.code == 0x6A80


def test_u2f_signs_es256_only(new_key, platform_of):
    key = new_key(algorithms=["EdDSA", "ES256"])
    made = platform_of(key).make(algorithms=[{"alg": -8, "type": "public-key"}])
    with pytest.raises(ApduError) as caught:
        Ctap1(key.ctap).authenticate(
            CHALLENGE, APPLICATION, made.auth_data.credential_data.credential_id
        )
    assert caught.value.code == 0x6A80


def test_a_u2f_credential_survives_saving_and_cloning(key):
    registered = register(key)
    for twin in (Authenticator.from_json(key.to_json()), key.clone()):
        signed = Ctap1(twin.ctap).authenticate(CHALLENGE, APPLICATION, registered.key_handle)
        signed.verify(APPLICATION, CHALLENGE, registered.public_key)


def test_a_u2f_credential_is_in_no_list_of_accounts(new_key, refuses, platform_of):
    key = new_key()
    register(key)
    with refuses("NO_CREDENTIALS"):
        platform_of(key).get("")
    assert Ctap2(key.ctap).info.remaining_disc_creds == key.profile.capacity
