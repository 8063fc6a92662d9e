"""Whatever is sent, an answer comes: a status, and canonical CBOR behind a success."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest
from fido2.ctap2 import (
    ClientPin,
    Config,
    CredentialManagement,
    Ctap2,
    FPBioEnrollment,
    LargeBlobs,
)
from fido2.utils import sha256
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from virtual_authenticator import Authenticator, Gesture, ManualClock, cbor, profile, profiles
from virtual_authenticator.ctap import Status
from virtual_authenticator.ctap.u2f import StatusWord

FEW = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)
STATUSES = {int(status) for status in Status} - {int(Status.OTHER)}
WORDS = {int(word) for word in StatusWord} - {int(StatusWord.NO_PRECISE_DIAGNOSIS)}
SHAPES = [
    "security-key",
    "security-key-2.0",
    "security-key-2.3",
    "security-key-biometric",
    "with-blobs-of-their-own",
]
HASH = bytes(range(32))


@cache
def key(shape):
    """One for each shape, with a PIN and two credentials, used by all examples."""
    clock = ManualClock()
    shaped = profiles().get(shape) or profile("security-key-2.3", extensions=["largeBlob"])
    authenticator = Authenticator(shaped, clock=clock, seed=shape)
    ClientPin(Ctap2(authenticator.ctap)).set_pin("2468")
    for number in (1, 2):
        authenticator.create(
            {
                "rp": {"id": "example.org", "name": "Example"},
                "user": {"id": f"AAA{number}", "name": "a", "displayName": "A"},
                "challenge": "AAAA",
                "pubKeyCredParams": [{"type": "public-key", "alg": -7}],
                "authenticatorSelection": {"residentKey": "required"},
            },
            "https://example.org",
            credential_id=bytes([number]) * 16,
        )
    clock.advance(60)  # no reset from here on: an example must not undo the next
    return authenticator


def check(shape, message):
    authenticator = key(shape)
    examine(authenticator, authenticator.ctap.processor.process(message))


def examine(authenticator, answer):
    defects = [entry for entry in authenticator.log if entry.what == "ctap-defect"]

    assert not defects, defects
    assert answer[0] in STATUSES
    if answer[0] != Status.SUCCESS:
        assert len(answer) == 1
    elif len(answer) > 1:
        assert cbor.encode(cbor.decode(answer[1:])) == answer[1:]


keys_agreed = st.fixed_dictionaries(
    {},
    optional={
        1: st.sampled_from([2, 1, "2"]),
        3: st.sampled_from([-25, -7]),
        -1: st.sampled_from([1, 2]),
        -2: st.binary(min_size=31, max_size=33),
        -3: st.binary(min_size=31, max_size=33),
    },
)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**64), 2**64 - 1)
    | st.binary(max_size=70)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
)
anything = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.integers(-5, 12) | st.text("idtypealg", max_size=4), inner, max_size=4)
    ),
    max_leaves=8,
)
descriptors = st.lists(
    st.fixed_dictionaries(
        {"id": st.sampled_from([bytes([1]) * 16, b"x"]) | anything, "type": st.just("public-key")}
    )
    | anything,
    max_size=9,
)
rp_ids = st.sampled_from(["example.org", "example.com", ""])
options = st.dictionaries(st.sampled_from(["rk", "uv", "up", "x"]), st.booleans() | anything)
extensions = st.dictionaries(
    st.sampled_from(
        [
            "credProtect",
            "hmac-secret",
            "hmac-secret-mc",
            "minPinLength",
            "credBlob",
            "largeBlobKey",
            "largeBlob",
            "pinComplexityPolicy",
            "thirdPartyPayment",
        ]
    ),
    st.fixed_dictionaries(
        {1: keys_agreed, 2: st.binary(max_size=80), 3: st.binary(max_size=32)},
        optional={4: st.integers(0, 3)},
    )
    | st.fixed_dictionaries(
        {},
        optional={
            "support": st.sampled_from(["required", "x"]),
            "read": st.booleans(),
            "write": st.binary(max_size=40),
            "originalSize": st.integers(0, 2**64 - 1),
        },
    )
    | st.booleans()
    | st.integers(0, 4)
    | st.binary(max_size=40)
    | anything,
)
# By command: a request that is nearly right, each member of which may be something else.
NEARLY = {
    0x01: {
        1: st.just(HASH),
        2: st.fixed_dictionaries({"id": rp_ids}),
        3: st.fixed_dictionaries({"id": st.binary(min_size=1, max_size=65)}),
        4: st.just([{"alg": -7, "type": "public-key"}]),
        5: descriptors,
        6: extensions,
        7: options,
        8: st.binary(max_size=33),
        9: st.integers(0, 3),
        10: st.integers(0, 3),
        11: st.lists(st.sampled_from(["none", "packed"]) | scalars, max_size=3),
    },
    0x02: {
        1: rp_ids,
        2: st.just(HASH),
        3: descriptors,
        4: extensions,
        5: options,
        6: st.binary(max_size=33),
        7: st.integers(0, 3),
    },
    0x06: {
        1: st.integers(0, 3),
        2: st.integers(0, 10),
        3: keys_agreed,
        4: st.binary(max_size=33),
        5: st.binary(max_size=100),
        6: st.binary(max_size=40),
        9: st.integers(-1, 255),
        10: rp_ids,
    },
    0x09: {
        1: st.integers(0, 2),
        2: st.integers(0, 8),
        3: st.fixed_dictionaries(
            {},
            optional={
                1: st.sampled_from([b"\x01", b"x"]),
                2: st.text(max_size=70),
                3: st.integers(-1, 9),
            },
        ),
        4: st.integers(0, 3),
        5: st.binary(max_size=33),
        6: st.booleans(),
    },
    0x0C: {
        1: st.integers(-1, 2000),
        2: st.binary(max_size=40),
        3: st.integers(-1, 40) | st.integers(0, 2**64 - 1),
        4: st.integers(-1, 5000),
        5: st.binary(max_size=33),
        6: st.integers(0, 3),
    },
    0x0D: {
        1: st.integers(0, 5) | st.just(255),
        2: st.fixed_dictionaries(
            {},
            optional={
                1: st.integers(-1, 70),
                2: st.lists(rp_ids | scalars, max_size=10),
                3: st.booleans(),
                4: st.booleans(),
            },
        ),
        3: st.integers(0, 3),
        4: st.binary(max_size=33),
    },
    0x0A: {
        1: st.integers(0, 8),
        2: st.fixed_dictionaries({}, optional={1: st.binary(), 2: anything, 3: anything}),
        3: st.integers(0, 3),
        4: st.binary(max_size=33),
    },
}


@pytest.mark.parametrize("shape", SHAPES)
@FEW
@given(st.binary(max_size=80))
def test_arbitrary_bytes(shape, message):
    check(shape, message)


# Without a PIN nobody is asked for a token, so that requests get further.
UNGUARDED = {
    0x09: "security-key-biometric",
    0x0C: "security-key-2.3",
    0x0D: "security-key-2.3",
}


@cache
def unguarded(shape):
    return Authenticator(shape, clock=ManualClock(), seed=shape)


@pytest.mark.parametrize("command", UNGUARDED)
@settings(FEW, max_examples=100)
@given(data=st.data())
def test_requests_to_a_key_without_a_pin(command, data):
    authenticator = unguarded(UNGUARDED[command])
    message = bytes([command]) + cbor.encode(
        data.draw(st.fixed_dictionaries({}, optional=NEARLY[command]))
    )
    examine(authenticator, authenticator.ctap.processor.process(message))
    assert Ctap2(authenticator.ctap).info.min_pin_length <= 63  # it still says what it is


@pytest.mark.parametrize("command", [*range(0x10), 0x40, 0x41, 0xFF])
@settings(FEW, max_examples=25)
@given(data=st.binary(max_size=60), shape=st.sampled_from(SHAPES))
def test_arbitrary_bytes_to_every_command(command, data, shape):
    check(shape, bytes([command]) + data)


@pytest.mark.parametrize("command", NEARLY)
@settings(FEW, max_examples=25)
@given(members=anything, shape=st.sampled_from(SHAPES))
def test_arbitrary_cbor(command, members, shape):
    check(shape, bytes([command]) + cbor.encode(members))


@pytest.mark.parametrize("command", NEARLY)
@settings(FEW, max_examples=150)
@given(data=st.data(), shape=st.sampled_from(SHAPES))
def test_requests_that_are_nearly_right(command, data, shape):
    members = data.draw(st.fixed_dictionaries({}, optional=NEARLY[command]))
    changed = data.draw(st.dictionaries(st.sampled_from(list(NEARLY[command])), anything))
    message = bytearray(bytes([command]) + cbor.encode({**members, **changed}))
    flips = data.draw(st.lists(st.integers(0, 8 * len(message) - 1), max_size=2))
    for bit in flips:
        message[bit // 8] ^= 1 << bit % 8
    check(shape, bytes(message))


@cache
def valid_messages(shape):
    """What python-fido2 really sends in the course of a few ceremonies, PIN and all."""
    authenticator = Authenticator(shape, clock=ManualClock(), seed=shape)
    sent, process = [], authenticator.ctap.processor.process

    def recording(message, *rest):
        answer = process(message, *rest)
        assert answer[0] == Status.SUCCESS, Status(answer[0])
        sent.append(message)
        return answer

    authenticator.ctap.processor.process = recording  # type: ignore[method-assign]
    ctap = Ctap2(authenticator.ctap)
    pins = ClientPin(ctap)
    pins.set_pin("2468")
    pins.change_pin("2468", "13579")
    pins.get_pin_retries()

    def signed(permission, message=HASH):
        token = pins.get_pin_token("13579", ClientPin.PERMISSION(permission), "example.org")
        return pins.protocol.authenticate(token, message), pins.protocol.VERSION

    agreed, secret = pins._get_shared_secret()
    salts = pins.protocol.encrypt(secret, bytes(64))
    hmac_secret = {1: agreed, 2: salts, 3: pins.protocol.authenticate(secret, salts), 4: 2}
    rp = {"id": "example.org"}
    parameters: list[Mapping[str, Any]] = [{"type": "public-key", "alg": -7}]
    inputs = {"credProtect": 2, "hmac-secret": True, "minPinLength": True}
    for user in (b"a", b"b"):
        ctap.make_credential(
            HASH, rp, {"id": user}, parameters, None, inputs, {"rk": True}, *signed(1)
        )
    ctap.get_assertions("example.org", HASH, None, {"hmac-secret": hmac_secret}, None, *signed(2))
    ctap.selection()
    if ctap.info.options.get("authnrCfg"):

        def token(permission):
            return pins.get_pin_token("13579", ClientPin.PERMISSION(permission))

        Config(ctap, pins.protocol, token(0x20)).set_min_pin_length(5, ["example.org"])
        LargeBlobs(ctap, pins.protocol, token(0x10)).put_blob(bytes(32), b"blob")
        LargeBlobs(ctap).get_blob(bytes(32))
        manager = CredentialManagement(ctap, pins.protocol, token(0x04))
        manager.enumerate_creds(sha256(b"example.org"))
    if ctap.info.options.get("bioEnroll"):
        authenticator.person.finger = "left-thumb"
        bio = FPBioEnrollment(ctap, pins.protocol, token(0x08))
        bio.enumerate_enrollments()
        context = bio.enroll()
        while (template_id := context.capture()) is None:
            pass
        bio.set_name(template_id, "Left thumb")
        bio.remove_enrollment(template_id)
    return sent


@settings(FEW, max_examples=400)
@given(data=st.data())
def test_valid_messages_with_a_little_damage(data):
    shape = data.draw(
        st.sampled_from(["security-key", "security-key-2.3", "security-key-biometric"])
    )
    message = bytearray(data.draw(st.sampled_from(valid_messages(shape))))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(message)))
        match data.draw(st.sampled_from(["flip", "cut", "insert", "double"])):
            case "flip":
                message[min(place, len(message) - 1)] ^= 1 << data.draw(st.integers(0, 7))
            case "cut":
                del message[max(place, 1) :]
            case "insert":
                message[place:place] = data.draw(st.binary(min_size=1, max_size=4))
            case "double":
                message[place:place] = message[place : place + 8]
    check(shape, bytes(message))


@pytest.mark.parametrize("shape", ["security-key", "u2f-key"])
@settings(FEW, max_examples=150)
@given(
    apdu=st.binary(max_size=12)
    | st.builds(
        lambda head, data, handle: (
            bytes([0, *head, 0, 0]) + len(data).to_bytes(2, "big") + data + handle + b"\0\0"
        ),
        st.tuples(st.integers(0, 4), st.sampled_from([0, 3, 7, 8])),
        st.binary(min_size=60, max_size=70),
        st.binary(max_size=3),
    ),
    gesture=st.sampled_from([Gesture.APPROVE, Gesture.DECLINE]),
)
def test_arbitrary_apdus(shape, apdu, gesture):
    authenticator = u2f(shape)
    authenticator.person.planned.clear()
    authenticator.person.will(gesture)
    answer = authenticator.ctap.processor.process_apdu(apdu)

    assert not [entry for entry in authenticator.log if entry.what == "ctap-defect"]
    assert int.from_bytes(answer[-2:], "big") in WORDS


@cache
def u2f(shape):
    return Authenticator(shape, clock=ManualClock(), seed=shape)
