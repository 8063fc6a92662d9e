"""Every algorithm with every attestation statement, verified by two libraries."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from fido2.attestation import UntrustedAttestation
from webauthn.helpers.exceptions import InvalidRegistrationResponse

from tests.virtual_authenticator.support.relying_party import ALGORITHMS, RelyingParty
from virtual_authenticator import Authenticator, NotSupportedError, cbor
from virtual_authenticator.algorithms import to_pkcs8
from virtual_authenticator.encoding import base64url_decode

COMBINATIONS = [
    (algorithm, attestation)
    for algorithm in ALGORITHMS
    for attestation in ("none", "packed-self", "packed")
] + [("ES256", "fido-u2f")]


def attestation_of(response: dict) -> dict:
    return cbor.decode(base64url_decode(response["response"]["attestationObject"]))


@pytest.mark.parametrize(
    ("algorithm", "attestation", "seed"),
    [(*pair, seed) for pair in COMBINATIONS for seed in (None, 7)],
)
def test_every_pair_is_made_and_accepted(
    algorithm: str, attestation: str, seed: int | None
) -> None:
    shape = "u2f-key" if attestation == "fido-u2f" else "security-key"
    device = Authenticator(shape, algorithms=[algorithm], attestation=attestation, seed=seed)
    party = RelyingParty()
    party.trust(device)
    registration = party.register(device, attestation="direct")
    assert attestation_of(registration)["fmt"] == attestation.removesuffix("-self")
    assert ("x5c" in attestation_of(registration)["attStmt"]) == (
        attestation in ("packed", "fido-u2f")
    )
    for _ in range(2):
        party.sign_in(device, [registration["id"]])


@pytest.mark.parametrize("attestation", ["packed", "fido-u2f"])
def test_a_relying_party_that_trusts_another_authority_refuses(attestation: str) -> None:
    device = Authenticator("u2f-key", attestation=attestation)
    party = RelyingParty()
    party.trust(Authenticator("u2f-key"))
    response = device.create(party.creation_options(attestation="direct"), party.origin)
    with pytest.raises(InvalidRegistrationResponse):
        party.verify_registration(response)
    with pytest.raises(UntrustedAttestation):
        party.verify_registration_with_fido2(response)
    party.trust(device)
    party.accept_registration(response)


@pytest.mark.parametrize("asked", ["none", None, "something-new"])
def test_a_certified_statement_is_withheld_unless_asked_for(asked: str | None) -> None:
    device, party = Authenticator("security-key"), RelyingParty()
    response = party.register(device, **({"attestation": asked} if asked else {}))
    assert attestation_of(response)["fmt"] == "none"
    assert attestation_of(response)["attStmt"] == {}
    # Level 3 lets the AAGUID through (Level 2 had it zeroed).
    assert attestation_of(response)["authData"][37:53] == device.profile.aaguid


@pytest.mark.parametrize("asked", ["direct", "indirect", "enterprise"])
def test_a_certified_statement_is_given_when_asked_for(asked: str) -> None:
    response = RelyingParty().register(Authenticator("security-key"), attestation=asked)
    assert set(attestation_of(response)["attStmt"]) == {"alg", "sig", "x5c"}


def test_ignoring_the_attestation_rule_lets_the_statement_through() -> None:
    device, party = Authenticator("security-key"), RelyingParty()
    response = device.create(
        party.creation_options(attestation="none"), party.origin, ignoring=["attestation"]
    )
    assert attestation_of(response)["fmt"] == "packed"
    party.accept_registration(response)


@pytest.mark.parametrize(
    ("aaguid", "fmt"), [(bytes(16), "packed"), (b"\x01" * 16, "none")], ids=["zero", "a model's"]
)
def test_self_attestation_without_a_model_survives_none(aaguid: bytes, fmt: str) -> None:
    """Section 5.1.3: it identifies nothing, so the client leaves it as it is."""
    device = Authenticator(attestation="packed-self", aaguid=aaguid)
    response = RelyingParty().register(device, attestation="none")
    assert attestation_of(response)["fmt"] == fmt


@pytest.mark.parametrize(
    ("offered", "device", "expected"),
    [
        ([-7, -257], ["RS256", "ES256"], -7),
        ([-257, -7], ["ES256", "RS256"], -257),
        ([-8, -36, -7], ["ES256", "ES512"], -36),
        ([-47, -7], ["ES256"], -7),
        ([], ["RS256"], -257),
        ([], ["RS256", "ES256"], -7),
    ],
)
def test_the_relying_party_s_order_decides(
    offered: list[int], device: list[str], expected: int
) -> None:
    response = RelyingParty().register(
        Authenticator(algorithms=device),
        pubKeyCredParams=[{"type": "public-key", "alg": one} for one in offered],
    )
    assert response["response"]["publicKeyAlgorithm"] == expected


@pytest.mark.parametrize(
    "params",
    [
        [{"type": "public-key", "alg": -257}],
        [{"type": "a-new-kind", "alg": -7}],
        [{"type": "public-key", "alg": -7 - 2**40}],
    ],
)
def test_no_common_algorithm_is_not_supported(params: list) -> None:
    device, party = Authenticator(algorithms=["ES256"]), RelyingParty()
    options = party.creation_options(pubKeyCredParams=params)
    with pytest.raises(NotSupportedError) as caught:
        device.create(options, party.origin)
    assert caught.value.name == "NotSupportedError"
    assert not device.credentials
    response = device.create(options, party.origin, ignoring=["algorithms"])
    party.accept_registration(response)
    assert response["response"]["publicKeyAlgorithm"] == -7


@pytest.mark.parametrize("form", ["key", "PKCS#8"])
def test_a_given_private_key_and_id_are_used(form: str) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    device, party = Authenticator(), RelyingParty()
    response = device.create(
        party.creation_options(),
        party.origin,
        credential_id=b"a chosen id",
        private_key=key if form == "key" else to_pkcs8(key),
    )
    party.accept_registration(response)
    assert base64url_decode(response["id"]) == b"a chosen id"
    held = device.credential(b"a chosen id").key
    assert isinstance(held, ec.EllipticCurvePrivateKey)
    assert held.private_numbers() == key.private_numbers()
    party.sign_in(device, [response["id"]])


def test_a_given_private_key_decides_the_algorithm() -> None:
    device = Authenticator(algorithms=["ES256", "RS256"])
    party = RelyingParty()
    response = device.create(
        party.creation_options(),
        party.origin,
        private_key=rsa.generate_private_key(65537, 2048),
    )
    party.accept_registration(response)
    assert response["response"]["publicKeyAlgorithm"] == -257
    party.sign_in(device, [response["id"]])


def test_a_given_private_key_that_was_not_offered_is_not_supported() -> None:
    device = Authenticator(algorithms=["ES256", "RS256"])
    party = RelyingParty()
    options = party.creation_options(pubKeyCredParams=[{"type": "public-key", "alg": -7}])
    key = rsa.generate_private_key(65537, 2048)
    with pytest.raises(NotSupportedError):
        device.create(options, party.origin, private_key=key)
    response = device.create(options, party.origin, private_key=key, ignoring=["algorithms"])
    party.accept_registration(response)
    assert response["response"]["publicKeyAlgorithm"] == -257
    party.sign_in(device, [response["id"]])
