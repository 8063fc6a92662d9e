"""The responses have the very shape that Level 3's `toJSON()` gives (section 5.1)."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from fido2.cose import CoseKey
from fido2.webauthn import AttestationObject, AuthenticatorData

from tests.virtual_authenticator.support.relying_party import ALGORITHMS, RelyingParty
from virtual_authenticator import Authenticator
from virtual_authenticator.encoding import base64url_decode, base64url_encode

BASE64URL = re.compile(r"[A-Za-z0-9_-]+")


def strings_of_bytes(response: dict[str, Any]) -> dict[str, str]:
    inner = {
        name: value
        for name, value in response["response"].items()
        if name not in ("transports", "publicKeyAlgorithm")
    }
    return {"id": response["id"], "rawId": response["rawId"], **inner}


def test_a_registration_has_just_the_members_of_registration_response_json() -> None:
    response = RelyingParty().register(Authenticator("security-key-nfc"))
    assert set(response) == {
        "id",
        "rawId",
        "response",
        "authenticatorAttachment",
        "clientExtensionResults",
        "type",
    }
    assert set(response["response"]) == {
        "clientDataJSON",
        "authenticatorData",
        "transports",
        "publicKey",
        "publicKeyAlgorithm",
        "attestationObject",
    }
    assert response["type"] == "public-key"
    assert response["clientExtensionResults"] == {}
    assert response["authenticatorAttachment"] == "cross-platform"


@pytest.mark.parametrize("discoverable", [True, False])
def test_an_assertion_has_just_the_members_of_authentication_response_json(
    discoverable: bool,
) -> None:
    device, party = Authenticator("security-key"), RelyingParty()
    registration = party.register(
        device,
        authenticatorSelection={"residentKey": "required" if discoverable else "discouraged"},
    )
    response = party.sign_in(device, [registration["id"]])
    assert set(response) == {
        "id",
        "rawId",
        "response",
        "authenticatorAttachment",
        "clientExtensionResults",
        "type",
    }
    expected = {"clientDataJSON", "authenticatorData", "signature"}
    assert set(response["response"]) == expected | ({"userHandle"} if discoverable else set())


def test_user_handles_are_the_user_s_id_and_only_discoverable_credentials_have_one() -> None:
    device, party = Authenticator("security-key"), RelyingParty()
    party.register(device, authenticatorSelection={"residentKey": "required"})
    response = party.sign_in(device)
    assert base64url_decode(response["response"]["userHandle"]) == party.user_id


@pytest.mark.parametrize("ceremony", ["create", "get"])
def test_all_bytes_are_unpadded_base64url_and_the_whole_survives_json(ceremony: str) -> None:
    device, party = Authenticator("icloud-keychain"), RelyingParty()
    response = party.register(device)
    if ceremony == "get":
        response = party.sign_in(device)
    for name, value in strings_of_bytes(response).items():
        assert BASE64URL.fullmatch(value), name
        assert base64url_encode(base64url_decode(value)) == value
    assert json.loads(json.dumps(response)) == response
    assert response["id"] == response["rawId"]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_convenience_members_agree_with_the_attestation_object(algorithm: str) -> None:
    response = RelyingParty().register(Authenticator(algorithms=[algorithm]))
    inner = response["response"]
    attested = AttestationObject(base64url_decode(inner["attestationObject"]))
    data = AuthenticatorData(base64url_decode(inner["authenticatorData"]))
    assert bytes(attested.auth_data) == bytes(data)
    assert data.credential_data is not None
    assert data.credential_data.credential_id == base64url_decode(response["rawId"])
    cose = data.credential_data.public_key
    assert cose[3] == inner["publicKeyAlgorithm"] == ALGORITHMS[algorithm]
    spki = serialization.load_der_public_key(base64url_decode(inner["publicKey"]))
    assert type(cose).from_cryptography_key(spki) == cose
    assert CoseKey.for_alg(cose[3]) is type(cose)


@pytest.mark.parametrize(
    "transports", [["usb", "nfc"], ["internal", "hybrid"], ["usb", "ble", "usb"], ["a-new-one"], []]
)
def test_transports_are_unique_and_in_lexicographical_order(transports: list[str]) -> None:
    response = RelyingParty().register(Authenticator(transports=transports))
    assert response["response"]["transports"] == sorted(set(transports))


@pytest.mark.parametrize(
    ("shape", "attachment"), [("touch-id", "platform"), ("security-key", "cross-platform")]
)
def test_the_attachment_is_told_in_both_ceremonies(shape: str, attachment: str) -> None:
    device, party = Authenticator(shape), RelyingParty()
    registration = party.register(device)
    assertion = party.sign_in(device, [registration["id"]])
    assert registration["authenticatorAttachment"] == attachment
    assert assertion["authenticatorAttachment"] == attachment


# ---- client data


def client_data(response: dict[str, Any]) -> bytes:
    return base64url_decode(response["response"]["clientDataJSON"])


@pytest.mark.parametrize("ceremony", ["create", "get"])
def test_client_data_is_serialised_as_section_5_8_1_1_says(ceremony: str) -> None:
    device, party = Authenticator("icloud-keychain"), RelyingParty()
    response = party.register(device)
    if ceremony == "get":
        response = party.sign_in(device)
    challenge = base64url_encode(party.challenge)
    assert (
        client_data(response)
        == (
            f'{{"type":"webauthn.{ceremony}","challenge":"{challenge}",'
            f'"origin":"{party.origin}","crossOrigin":false}}'
        ).encode()
    )


@pytest.mark.parametrize("ceremony", ["create", "get"])
@pytest.mark.parametrize(
    ("framing", "tail"),
    [
        ({"cross_origin": True}, '"crossOrigin":true}'),
        (
            {"top_origin": "https://top.example"},
            '"crossOrigin":true,"topOrigin":"https://top.example"}',
        ),
        ({"cross_origin": False, "top_origin": "https://t"}, '"topOrigin":"https://t"}'),
        (
            {"client_data_extra": {"other_keys": 'a "quoted" \x07'}},
            '"crossOrigin":false,"other_keys":"a \\"quoted\\" \\u0007"}',
        ),
    ],
)
def test_frames_and_extra_members_come_after_the_four_fixed_ones(
    ceremony: str, framing: dict[str, Any], tail: str
) -> None:
    device, party = Authenticator("icloud-keychain"), RelyingParty()
    response = device.create(party.creation_options(), party.origin, **framing)
    if ceremony == "get":
        party.accept_registration(response)
        response = device.get(party.request_options(), party.origin, **framing)
        party.accept_assertion(response)
    else:
        party.accept_registration(response)
    assert client_data(response).decode().endswith(tail)
    # The next one is plain again.
    plain = device.get(party.request_options(), party.origin)
    assert client_data(plain).decode().endswith('"crossOrigin":false}')


def test_a_challenge_with_loose_last_bits_is_signed_in_its_one_right_form() -> None:
    device, party = Authenticator("icloud-keychain"), RelyingParty()
    party.register(device)
    response = party.sign_in(device, challenge="AAAAAAAAAAAAAAAAAAAAAB")
    assert json.loads(client_data(response))["challenge"] == "AAAAAAAAAAAAAAAAAAAAAA"


@pytest.mark.parametrize("size", [0, 1, 16, 31, 64, 1000])
def test_challenges_of_any_size_are_answered(size: int) -> None:
    device, party = Authenticator("icloud-keychain"), RelyingParty()
    challenge = base64url_encode(bytes(range(256)) * 4)[: (size * 4 + 2) // 3]
    challenge = base64url_encode(base64url_decode(challenge))
    party.register(device, challenge=challenge)
    party.sign_in(device, challenge=challenge)


def test_a_response_is_the_caller_s_own() -> None:
    device, party = Authenticator("icloud-keychain"), RelyingParty()
    first = party.register(device)
    first["response"]["transports"].append("spoiled")
    second = device.create(
        party.creation_options(user={"id": "AQ", "name": "b", "displayName": "B"}), party.origin
    )
    assert "spoiled" not in second["response"]["transports"]


def test_authenticator_data_begins_with_the_hash_of_the_rp_id() -> None:
    device, party = Authenticator("icloud-keychain"), RelyingParty()
    for response in (party.register(device), party.sign_in(device)):
        data = base64url_decode(response["response"]["authenticatorData"])
        assert data[:32] == hashlib.sha256(b"example.org").digest()
