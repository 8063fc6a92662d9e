"""What one layer did, the other knows: blobs, enterprise attestation, algorithms, fingers."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest
from fido2.attestation import PackedAttestation
from fido2.ctap2 import ClientPin, Config, Ctap2, LargeBlobs
from fido2.webauthn import AttestationObject, AuthenticatorData

from tests.virtual_authenticator.support.relying_party import ALGORITHMS, RelyingParty
from virtual_authenticator import Authenticator, NotAllowedError
from virtual_authenticator.encoding import base64url_decode, base64url_encode

PIN = "246813"
HASH = bytes(range(32))
RP, USER = {"id": "example.org", "name": "Example"}, {"id": b"user", "name": "user"}


def token(key: Authenticator, permission: ClientPin.PERMISSION, rp_id: str | None = None) -> bytes:
    return ClientPin(Ctap2(key.ctap)).get_pin_token(PIN, permission, rp_id)


def blobs(key: Authenticator) -> LargeBlobs:
    ctap = Ctap2(key.ctap)
    return LargeBlobs(
        ctap, ClientPin(ctap).protocol, token(key, ClientPin.PERMISSION.LARGE_BLOB_WRITE)
    )


def test_a_large_blob_of_either_layer_is_there_for_the_other() -> None:
    key, party = Authenticator("security-key", pin=PIN), RelyingParty()
    held = party.register(
        key,
        authenticatorSelection={"residentKey": "required"},
        extensions={"largeBlob": {"support": "required"}},
    )["id"]
    secret = key.credentials[0].large_blob_key
    assert secret is not None
    assert blobs(key).get_blob(secret) is None
    written = {"largeBlob": {"write": base64url_encode(b"by the page")}}
    party.sign_in(key, [held], extensions=written)
    assert blobs(key).get_blob(secret) == b"by the page"
    blobs(key).put_blob(secret, b"by the platform")
    found = party.sign_in(key, [held], extensions={"largeBlob": {"read": True}})
    assert found["clientExtensionResults"] == {
        "largeBlob": {"blob": base64url_encode(b"by the platform")}
    }


def test_enterprise_attestation_is_enabled_for_both_and_names_the_same_device() -> None:
    key = Authenticator(
        "security-key-2.3", pin=PIN, enterprise_attestation=True, enterprise_rp_ids=["example.org"]
    )
    party, ctap = RelyingParty(), Ctap2(key.ctap)
    usual = statement(party.register(key, attestation="enterprise"))["x5c"]
    Config(
        ctap, ClientPin(ctap).protocol, token(key, ClientPin.PERMISSION.AUTHENTICATOR_CFG)
    ).enable_enterprise_attestation()
    named = statement(party.register(key, attestation="enterprise"))["x5c"]
    assert named != usual
    permission = token(key, ClientPin.PERMISSION.MAKE_CREDENTIAL, RP["id"])
    protocol = ClientPin(ctap).protocol
    made = ctap.make_credential(
        HASH,
        RP,
        {"id": b"another", "name": "another"},
        [{"type": "public-key", "alg": -7}],
        pin_uv_param=protocol.authenticate(permission, HASH),
        pin_uv_protocol=protocol.VERSION,
        enterprise_attestation=1,
    )
    assert made.ep_att is True
    assert made.att_stmt["x5c"] == named


def statement(response: dict[str, Any]) -> Any:
    return AttestationObject(base64url_decode(response["response"]["attestationObject"])).att_stmt


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_ctap_makes_and_signs_with_every_algorithm(algorithm: str) -> None:
    """And what it made, the page can use."""
    key, party = Authenticator(algorithms=[algorithm]), RelyingParty()
    ctap = Ctap2(key.ctap)
    parameters: list[Any] = [{"type": "public-key", "alg": ALGORITHMS[algorithm]}]
    made = ctap.make_credential(HASH, RP, USER, parameters)
    PackedAttestation().verify(made.att_stmt, made.auth_data, HASH)
    assert made.auth_data.credential_data is not None
    public = made.auth_data.credential_data.public_key
    held: dict[str, Any] = {
        "type": "public-key",
        "id": made.auth_data.credential_data.credential_id,
    }
    ctap.get_assertion(RP["id"], HASH, [held]).verify(HASH, public)
    response = key.get(party.request_options([held["id"]]), party.origin)["response"]
    digest = sha256(base64url_decode(response["clientDataJSON"])).digest()
    signed = base64url_decode(response["authenticatorData"]) + digest
    public.verify(signed, base64url_decode(response["signature"]))


def test_a_finger_that_the_sensor_does_not_know_verifies_for_neither() -> None:
    key, party = Authenticator("security-key-biometric"), RelyingParty()
    required = {"authenticatorSelection": {"userVerification": "required"}}
    key.person.pin = None  # so that the finger is all there is
    assert verified(party.register(key, **required))
    key.person.finger = "left-thumb"
    with pytest.raises(NotAllowedError, match="cannot verify"):
        key.create(party.creation_options(**required), party.origin)


def verified(response: dict[str, Any]) -> bool:
    data = AuthenticatorData(base64url_decode(response["response"]["authenticatorData"]))
    return bool(data.flags & AuthenticatorData.FLAG.UV)
