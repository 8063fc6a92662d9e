"""What user verification means for a key with a PIN, in both layers."""

from __future__ import annotations

import pytest
from fido2.ctap import CtapError
from fido2.ctap2 import ClientPin, Ctap2
from fido2.webauthn import AuthenticatorData

from tests.virtual_authenticator.support.relying_party import RelyingParty
from virtual_authenticator import Authenticator, NotAllowedError
from virtual_authenticator.encoding import base64url_decode

REQUIRED = {"authenticatorSelection": {"userVerification": "required"}}


def verified(response: dict) -> bool:
    data = AuthenticatorData(base64url_decode(response["response"]["authenticatorData"]))
    return bool(data.flags & AuthenticatorData.FLAG.UV)


def has_pin(device: Authenticator) -> bool | None:
    return Ctap2(device.ctap).info.options.get("clientPin")


def token(device: Authenticator, pin: str) -> bytes:
    return ClientPin(Ctap2(device.ctap)).get_pin_token(
        pin, ClientPin.PERMISSION.MAKE_CREDENTIAL, "example.org"
    )


def test_a_pin_at_creation_is_the_key_s_in_both_layers() -> None:
    device = Authenticator("security-key", pin="correct horse")
    assert has_pin(device)
    assert token(device, "correct horse")
    with pytest.raises(CtapError) as caught:
        token(device, "wrong horse")
    assert caught.value.code == CtapError.ERR.PIN_INVALID
    assert verified(RelyingParty().register(device, **REQUIRED))


@pytest.mark.parametrize(
    ("shape", "pin", "words"),
    [
        ("security-key", "123", "pin: got 3 characters, expected 4 or more"),
        ("security-key", "x" * 64, "pin: got 64 characters, .* 63 bytes at most"),
        ("icloud-keychain", "1234", "icloud-keychain has no PIN"),
        ("u2f-key", "1234", "u2f-key has no PIN"),
    ],
)
def test_a_pin_that_cannot_be_is_refused(shape: str, pin: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Authenticator(shape, pin=pin)


@pytest.mark.parametrize("wanted", ["required", "preferred"])
def test_a_key_without_pin_gets_one_when_somebody_is_verified_first(wanted: str) -> None:
    """A client has the person set a PIN; from then on both layers know it."""
    device, party = Authenticator("security-key"), RelyingParty()
    assert has_pin(device) is False
    registration = party.register(device, authenticatorSelection={"userVerification": wanted})
    assert verified(registration)
    assert has_pin(device) is True
    assert device.person.pin is not None
    assert token(device, device.person.pin)


def test_nobody_is_verified_and_no_pin_is_set_where_it_is_discouraged() -> None:
    device, party = Authenticator("security-key"), RelyingParty()
    selection = {"userVerification": "discouraged"}
    assert not verified(party.register(device, authenticatorSelection=selection))
    assert has_pin(device) is False


def test_a_person_who_sets_no_pin_cannot_be_verified_in_either_layer() -> None:
    device, party = Authenticator("security-key"), RelyingParty()
    device.person.pin = None
    assert not verified(party.register(device))
    with pytest.raises(NotAllowedError, match="cannot verify"):
        device.create(party.creation_options(**REQUIRED), party.origin)
    with pytest.raises(CtapError) as caught:
        token(device, "1234")
    assert caught.value.code == CtapError.ERR.PIN_NOT_SET
    assert has_pin(device) is False


def test_a_pin_that_ctap_set_serves_the_page_too() -> None:
    device, party = Authenticator("security-key"), RelyingParty()
    device.person.pin = None  # so that no other can be set
    ClientPin(Ctap2(device.ctap)).set_pin("4711")
    assert verified(party.register(device, **REQUIRED))


def test_what_is_blocked_for_one_layer_is_blocked_for_the_other() -> None:
    device, party = Authenticator("security-key", pin="1234"), RelyingParty()
    for _ in range(8):
        with pytest.raises(CtapError):
            token(device, "4321")
        device.ctap.power_cycle()
    with pytest.raises(NotAllowedError, match="cannot verify"):
        device.create(party.creation_options(**REQUIRED), party.origin)

    sensor = Authenticator("touch-id")
    party.register(sensor, **REQUIRED)
    sensor.core.pin.uv_retries = 0
    with pytest.raises(NotAllowedError, match="cannot verify"):
        sensor.create(party.creation_options(**REQUIRED), party.origin)
