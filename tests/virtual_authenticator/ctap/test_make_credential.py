"""MakeCredential: each refusal beside the request that it lets through."""

from __future__ import annotations

import threading

import pytest
from fido2.ctap import CtapError
from fido2.ctap2 import AttestationResponse, ClientPin

from virtual_authenticator import Gesture

PIN = "2468"
HASH = bytes(range(32))


@pytest.fixture
def fresh(new_key, platform_of):
    """A security key without a PIN."""
    return platform_of(new_key())


def identifier(made):
    return made.auth_data.credential_data.credential_id


def descriptor(credential_id, kind="public-key"):
    return {"type": kind, "id": credential_id}


# ---- steps 1 and 2: pinUvAuthParam


@pytest.mark.parametrize(("pin", "status"), [(None, "PIN_NOT_SET"), (PIN, "PIN_INVALID")])
def test_an_empty_param_asks_for_a_touch_only(new_key, platform_of, refuses, pin, status):
    platform = platform_of(new_key(pin=pin))
    touches = []
    with refuses(status):
        platform.make(pin_uv_param=b"", on_keepalive=touches.append)
    platform.authenticator.person.will(Gesture.DECLINE)
    with refuses("OPERATION_DENIED"):
        platform.make(pin_uv_param=b"")

    assert touches == [2]
    assert not platform.authenticator.credentials


def test_the_protocol_is_named_and_known(platform, refuses):
    token = platform.token()
    with refuses("MISSING_PARAMETER"):
        platform.make(token=token, pin_uv_protocol=None)
    with refuses("INVALID_PARAMETER"):
        platform.make(token=token, pin_uv_protocol=3)
    assert platform.make(token=token)


def test_a_param_that_nothing_stands_behind_is_refused(fresh, refuses):
    """Even where no PIN is set: a platform that sends one by mistake should hear of it."""
    with refuses("PIN_AUTH_INVALID"):
        fresh.make(pin_uv_param=bytes(32), pin_uv_protocol=2)


def test_a_signature_over_something_else_is_refused(platform, refuses):
    token = platform.token()
    with refuses("PIN_AUTH_INVALID"):
        platform.make(**platform.signed(token, b"something else"))
    assert platform.make(token=token)


# ---- step 3: algorithms


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        ([(-7, "public-key")], -7),
        ([(-8, "public-key"), (-7, "public-key")], -8),
        ([(-65535, "public-key"), (-7, "public-key")], -7),
        ([(-8, "another-type"), (-7, "public-key")], -7),
        ([(-7, "public-key"), (-7, "public-key")], -7),
    ],
)
def test_the_first_known_algorithm_is_chosen(new_key, platform_of, offered, chosen):
    platform = platform_of(new_key(algorithms=["ES256", "EdDSA"]))
    made = platform.make(algorithms=[{"alg": a, "type": kind} for a, kind in offered])

    key = made.auth_data.credential_data.public_key
    assert key[3] == chosen


@pytest.mark.parametrize(
    ("algorithms", "status"),
    [
        ([], "UNSUPPORTED_ALGORITHM"),
        ([{"alg": -65535, "type": "public-key"}], "UNSUPPORTED_ALGORITHM"),
        ([{"alg": -7, "type": "another-type"}], "UNSUPPORTED_ALGORITHM"),
        ([{"alg": -7}], "MISSING_PARAMETER"),
        ([{"type": "public-key"}], "MISSING_PARAMETER"),
        ([{"alg": "-7", "type": "public-key"}], "CBOR_UNEXPECTED_TYPE"),
        ([-7], "CBOR_UNEXPECTED_TYPE"),
        ([{"alg": -7, "type": "public-key"}, {"alg": -7, "type": 2}], "CBOR_UNEXPECTED_TYPE"),
    ],
)
def test_algorithms_that_will_not_do(fresh, refuses, algorithms, status):
    with refuses(status):
        fresh.make(algorithms=algorithms)
    assert not fresh.authenticator.credentials


# ---- step 5: options


@pytest.mark.parametrize(
    ("shape", "options", "status"),
    [
        ("security-key", {"uv": True}, "INVALID_OPTION"),
        ("security-key", {"up": False}, "INVALID_OPTION"),
        ("security-key", {"rk": 1}, "CBOR_UNEXPECTED_TYPE"),
        ("android-platform", {"rk": True}, "UNSUPPORTED_OPTION"),
        ("security-key", {"up": True, "uv": False, "rk": False, "new": True}, None),
        ("security-key", {"rk": True}, None),
        ("touch-id", {"uv": True}, None),
    ],
)
def test_options(new_key, platform_of, refuses, shape, options, status):
    platform = platform_of(new_key(shape))
    if status is None:
        assert platform.make(options=options)
    else:
        with refuses(status):
            platform.make(options=options)


@pytest.mark.parametrize(
    ("shape", "asked", "stored"),
    [
        ("security-key", True, True),
        ("security-key", False, False),
        ("google-password-manager", False, True),
    ],
)
def test_rk_decides_unless_the_profile_does(new_key, platform_of, shape, asked, stored):
    platform = platform_of(new_key(shape))
    platform.make(options={"rk": asked, **({"uv": True} if shape != "security-key" else {})})
    assert platform.authenticator.credentials[0].discoverable is stored


# ---- steps 6 to 8: who must be verified


def test_a_pin_guards_resident_keys_only(platform, refuses):
    assert not platform.make(options={"rk": False}).auth_data.is_user_verified()
    with refuses("PUAT_REQUIRED"):
        platform.make(options={"rk": True})
    made = platform.make(options={"rk": True}, token=platform.token())
    assert made.auth_data.is_user_verified()


def test_a_2_0_pin_guards_every_registration(new_key, platform_of, refuses):
    platform = platform_of(new_key("security-key-2.0", pin=PIN))
    with refuses("PUAT_REQUIRED"):
        platform.make()
    assert platform.make(token=platform.pins.get_pin_token(PIN))


def test_always_uv_without_a_sensor_wants_a_token(new_key, platform_of, refuses):
    key = new_key(always_verifies=True)
    platform = platform_of(key)
    with refuses("PUAT_REQUIRED"):
        platform.make()
    platform.pins.set_pin(PIN)
    with refuses("PUAT_REQUIRED"):
        platform_of(key).make()
    assert platform_of(key).make(token=platform_of(key).token()).auth_data.is_user_verified()


def test_always_uv_with_a_sensor_asks_for_the_finger(new_key, platform_of):
    platform = platform_of(new_key("touch-id"))
    made = platform.make()
    assert made.auth_data.is_user_verified()
    assert made.auth_data.is_user_present()


# ---- step 9: enterprise attestation


@pytest.mark.parametrize("level", [1, 2, 3])
def test_there_is_no_enterprise_attestation(fresh, refuses, level):
    with refuses("INVALID_PARAMETER"):
        fresh.make(enterprise_attestation=level)


# ---- step 11: the finger within the command


def test_a_finger_serves_for_touch_and_verification(new_key, platform_of):
    platform = platform_of(new_key("touch-id"))
    asked = []
    platform.authenticator.person.will(Gesture.WRONG_FINGER, Gesture.APPROVE, Gesture.DECLINE)
    made = platform.make(options={"uv": True}, on_keepalive=asked.append)

    assert made.auth_data.is_user_verified()
    assert made.auth_data.is_user_present()
    assert list(platform.authenticator.person.planned) == [Gesture.DECLINE]


@pytest.mark.parametrize(("pin", "status"), [(None, "OPERATION_DENIED"), (PIN, "PUAT_REQUIRED")])
def test_three_wrong_fingers_end_the_command(new_key, platform_of, refuses, pin, status):
    platform = platform_of(new_key("security-key-biometric", pin=pin))
    platform.authenticator.person.will(*[Gesture.WRONG_FINGER] * 3)
    with refuses(status):
        platform.make(options={"uv": True})
    assert platform.pins.get_uv_retries() == 2
    assert not platform.authenticator.credentials


# ---- step 12: excludeList


def test_excluded(fresh, refuses):
    first = identifier(fresh.make())
    with refuses("CREDENTIAL_EXCLUDED"):
        fresh.make(exclude_list=[descriptor(b"unknown"), descriptor(first)])
    assert fresh.make("example.com", exclude_list=[descriptor(first)])  # another RP's
    assert fresh.make(exclude_list=[descriptor(first, "another-type")])
    assert fresh.make(exclude_list=[])


@pytest.mark.parametrize("gesture", [Gesture.APPROVE, Gesture.DECLINE, Gesture.IGNORE])
def test_excluded_whatever_the_person_does(fresh, refuses, gesture):
    first = identifier(fresh.make())
    touches = []
    fresh.authenticator.person.will(gesture)
    with refuses("CREDENTIAL_EXCLUDED"):
        fresh.make(exclude_list=[descriptor(first)], on_keepalive=touches.append)
    assert touches == [2]


def test_a_cancelled_request_says_so_even_if_excluded(fresh, refuses):
    first = identifier(fresh.make())
    event = threading.Event()
    event.set()
    with refuses("KEEPALIVE_CANCEL"):
        fresh.make(exclude_list=[descriptor(first)], event=event)


def test_a_protected_credential_is_not_betrayed(platform, refuses):
    hidden = identifier(platform.make(token=platform.token(), extensions={"credProtect": 3}))

    assert platform.make(exclude_list=[descriptor(hidden)])
    with refuses("CREDENTIAL_EXCLUDED"):
        platform.make(exclude_list=[descriptor(hidden)], token=platform.token())


def test_too_long_a_list(fresh, refuses):
    limit = fresh.ctap.info.max_creds_in_list
    entries = [descriptor(bytes([number])) for number in range(limit + 1)]
    with refuses("LIMIT_EXCEEDED"):
        fresh.make(exclude_list=entries)
    assert fresh.make(exclude_list=entries[1:])


# ---- step 15: extensions


@pytest.mark.parametrize("level", [1, 2, 3])
def test_cred_protect(fresh, level):
    made = fresh.make(extensions={"credProtect": level})
    assert made.auth_data.extensions == {"credProtect": level}
    assert fresh.authenticator.credentials[0].protection == level


@pytest.mark.parametrize(
    ("inputs", "status"),
    [
        ({"credProtect": 0}, "INVALID_OPTION"),
        ({"credProtect": 4}, "INVALID_OPTION"),
        ({"credProtect": "3"}, "CBOR_UNEXPECTED_TYPE"),
        ({"hmac-secret": 1}, "CBOR_UNEXPECTED_TYPE"),
    ],
)
def test_broken_extension_inputs(fresh, refuses, inputs, status):
    with refuses(status):
        fresh.make(extensions=inputs)
    assert not fresh.authenticator.credentials


@pytest.mark.parametrize(
    ("inputs", "outputs"),
    [
        ({"hmac-secret": True}, {"hmac-secret": True}),
        ({"hmac-secret": False}, None),
        ({"unknown": {"a": 1}}, None),
        ({"hmac-secret-mc": {}}, None),  # not in this profile
    ],
)
def test_extension_outputs(fresh, inputs, outputs):
    made = fresh.make(extensions=inputs)
    assert made.auth_data.extensions == outputs
    assert (fresh.authenticator.credentials[0].secrets is not None) is bool(outputs)


@pytest.mark.parametrize(
    ("rp_id", "outputs"), [("example.org", {"minPinLength": 4}), ("example.com", None)]
)
def test_min_pin_length_is_told_to_its_rps_only(new_key, platform_of, rp_id, outputs):
    platform = platform_of(new_key(min_pin_length_rp_ids=["example.org"]))
    made = platform.make(rp_id, extensions={"minPinLength": True})
    assert made.auth_data.extensions == outputs


def test_hmac_secret_mc_needs_hmac_secret(new_key, platform_of, refuses):
    platform = platform_of(new_key("security-key-2.3"))
    with refuses("MISSING_PARAMETER"):
        platform.make(extensions={"hmac-secret-mc": {}})


# ---- steps 16 to 19


def test_a_full_key(new_key, platform_of, refuses):
    platform = platform_of(new_key(capacity=2))
    platform.make(user=b"alice", options={"rk": True})
    platform.make(user=b"bob", options={"rk": True})

    with refuses("KEY_STORE_FULL"):
        platform.make(user=b"carol", options={"rk": True})
    assert platform.make(user=b"bob", options={"rk": True})  # takes the place of its last one
    assert platform.make(user=b"carol", options={"rk": False})
    assert platform.authenticator.core.store.discoverable_count == 2


@pytest.mark.parametrize(
    ("formats", "fmt"),
    [
        (None, "packed"),
        ([], "packed"),
        (["none"], "none"),
        (["packed", "none"], "packed"),
        (["none", "packed"], "none"),
        (["tpm", "none"], "none"),
        (["tpm"], "packed"),
    ],
)
def test_attestation_formats_preference(new_key, platform_of, formats, fmt):
    platform = platform_of(new_key("security-key-2.3"))
    assert send(platform, {0x0B: formats} if formats is not None else {}).fmt == fmt


def test_attestation_formats_preference_is_new(fresh):
    assert send(fresh, {0x0B: ["none"]}).fmt == "packed"


def send(platform, changes):
    """A request with some parameters changed; None takes one out."""
    request = {
        1: HASH,
        2: {"id": "example.org"},
        3: {"id": b"alice"},
        4: [{"alg": -7, "type": "public-key"}],
        **changes,
    }
    members = {key: value for key, value in request.items() if value is not None}
    return AttestationResponse.from_dict(platform.ctap.send_cbor(0x01, members))


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({}, None),
        ({0x7F: "unknown"}, None),
        ({1: None}, "MISSING_PARAMETER"),
        ({2: None}, "MISSING_PARAMETER"),
        ({3: None}, "MISSING_PARAMETER"),
        ({4: None}, "MISSING_PARAMETER"),
        ({2: {"name": "x"}}, "MISSING_PARAMETER"),
        ({3: {"name": "x"}}, "MISSING_PARAMETER"),
        ({1: "text"}, "CBOR_UNEXPECTED_TYPE"),
        ({2: "text"}, "CBOR_UNEXPECTED_TYPE"),
        ({2: {"id": b"bytes"}}, "CBOR_UNEXPECTED_TYPE"),
        ({3: {"id": "text"}}, "CBOR_UNEXPECTED_TYPE"),
        ({4: {}}, "CBOR_UNEXPECTED_TYPE"),
        ({5: [{"id": "text", "type": "public-key"}]}, "CBOR_UNEXPECTED_TYPE"),
        ({5: [{"type": "public-key"}]}, "MISSING_PARAMETER"),
        ({6: []}, "CBOR_UNEXPECTED_TYPE"),
        ({7: []}, "CBOR_UNEXPECTED_TYPE"),
        ({8: "text"}, "CBOR_UNEXPECTED_TYPE"),
        ({1: bytes(31)}, "INVALID_LENGTH"),
        ({3: {"id": b""}}, "INVALID_LENGTH"),
        ({3: {"id": bytes(65)}}, "INVALID_LENGTH"),
        ({3: {"id": bytes(64)}}, None),
    ],
    ids=str,
)
def test_shapes(fresh, refuses, changes, status):
    if status is None:
        assert send(fresh, changes).fmt == "packed"
    else:
        with refuses(status):
            send(fresh, changes)
        assert not fresh.authenticator.credentials


def test_a_request_that_is_too_large(fresh):
    fresh.ctap._max_msg_size = 10_000  # a platform that does not look
    with pytest.raises(CtapError) as caught:
        send(fresh, {2: {"id": "example.org", "name": "x" * 2000}})
    assert caught.value.code == CtapError.ERR.REQUEST_TOO_LARGE


def test_pin_protocol_two_is_preferred(platform):
    assert ClientPin(platform.ctap).protocol.VERSION == 2
