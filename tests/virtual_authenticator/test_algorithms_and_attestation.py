"""Every algorithm with every attestation statement, verified by two libraries."""

from __future__ import annotations

import copy
import hashlib
import sys
from types import SimpleNamespace
from typing import Any

import cryptography.hazmat.primitives.asymmetric
import fido2.cbor
import fido2.cose
import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from fido2.attestation import InvalidData, UntrustedAttestation
from fido2.ctap2 import Ctap2
from webauthn.helpers.exceptions import (
    InvalidAuthenticationResponse,
    InvalidRegistrationResponse,
)

from tests.virtual_authenticator.support.relying_party import (
    ALGORITHMS,
    FIDO2_FORMATS,
    PY_WEBAUTHN_ALGORITHMS,
    RARER_ALGORITHMS,
    RelyingParty,
)
from virtual_authenticator import Authenticator, NotSupportedError, cbor
from virtual_authenticator.algorithms import BY_NAME, to_pkcs8
from virtual_authenticator.attestation import CERTIFIED, attestation_object
from virtual_authenticator.certificates import AttestationAuthority
from virtual_authenticator.encoding import base64url_decode, base64url_encode
from virtual_authenticator.entropy import Entropy
from virtual_authenticator.hardware import SafetyNet

COMBINATIONS = [
    (algorithm, attestation)
    for algorithm in ALGORITHMS
    for attestation in ("none", "packed-self", "packed")
] + [
    ("ES256", "fido-u2f"),
    *((algorithm, "tpm") for algorithm in ("ES256", "ES512", "RS256")),
    *((algorithm, "android-key") for algorithm in ("ES256", "ES512", "RS256")),
    ("ES256", "android-safetynet"),
    ("ES256", "apple"),
]


def attestation_of(response: dict) -> dict:
    return cbor.decode(base64url_decode(response["response"]["attestationObject"]))


@pytest.mark.parametrize(
    ("algorithm", "attestation", "seed"),
    [(*pair, None) for pair in COMBINATIONS]
    # Seeded primes take a second, so that one combination has to do for RSA.
    + [(*pair, 7) for pair in COMBINATIONS if "S256" not in pair[0][1:]]
    + [("RS256", "packed", 7)],
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
        attestation not in ("none", "packed-self", "android-safetynet")
    )
    for _ in range(2):
        party.sign_in(device, [registration["id"]])


@pytest.mark.parametrize("attestation", sorted(CERTIFIED))
def test_a_relying_party_that_trusts_another_authority_refuses(attestation: str) -> None:
    device = Authenticator("u2f-key", attestation=attestation)
    party = RelyingParty()
    party.trust(Authenticator("u2f-key"))
    response = device.create(party.creation_options(attestation="direct"), party.origin)
    with pytest.raises(InvalidRegistrationResponse):
        party.verify_registration(response)
    if attestation in FIDO2_FORMATS:
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


PSS = padding.PSS(padding.MGF1(hashes.SHA256()), salt_length=32)


@pytest.fixture(scope="module")
def rsa_key() -> bytes:
    """One for all algorithms of RSA: a new one takes long."""
    return to_pkcs8(BY_NAME["RS256"].generate(Entropy()))


@pytest.mark.parametrize("algorithm", RARER_ALGORITHMS)
def test_rarer_algorithms_are_made_kept_and_accepted(algorithm: str, rsa_key: bytes) -> None:
    device = Authenticator(algorithms=[algorithm], attestation="packed-self")
    party = RelyingParty()
    offered = [{"type": "public-key", "alg": RARER_ALGORITHMS[algorithm]}]
    options = party.creation_options(pubKeyCredParams=offered, attestation="direct")
    key = rsa_key if algorithm.startswith(("RS", "PS")) else None
    response = device.create(options, party.origin, private_key=key)
    party.accept_registration(response)
    assert response["response"]["publicKeyAlgorithm"] == RARER_ALGORITHMS[algorithm]
    kept = Authenticator.from_json(device.to_json())
    assert kept.credentials[0].algorithm is BY_NAME[algorithm]
    party.sign_in(kept, [response["id"]])
    options = party.request_options([response["id"]])
    with pytest.raises((ValueError, InvalidAuthenticationResponse), match="signature"):
        party.accept_assertion(kept.get(options, party.origin, faults="other-algorithm"))


def test_every_algorithm_that_a_verifier_knows_is_there() -> None:
    mine = {each.name: each.identifier for each in BY_NAME.values()}
    assert mine == ALGORITHMS | RARER_ALGORITHMS
    assert set(PY_WEBAUTHN_ALGORITHMS) <= set(mine.values())
    # What python-fido2 has in preparation is nothing that a credential signs with.
    known = [getattr(fido2.cose, name) for name in dir(fido2.cose) if "PLACEHOLDER" not in name]
    kinds = [one for one in known if isinstance(one, type) and issubclass(one, fido2.cose.CoseKey)]
    assert {one.ALGORITHM for one in kinds} - {None} <= set(mine.values())


def test_ps256_has_a_salt_as_long_as_the_digest() -> None:
    """RFC 8230, section 2. The two libraries take any length, so that they would not notice."""
    device, party = Authenticator(algorithms=["PS256"]), RelyingParty()
    registered = party.register(device, pubKeyCredParams=[{"type": "public-key", "alg": -37}])
    key = device.credentials[0].key
    assert isinstance(key, rsa.RSAPrivateKey)
    response = party.sign_in(device, [registered["id"]])["response"]
    signed = (
        base64url_decode(response["authenticatorData"])
        + hashlib.sha256(base64url_decode(response["clientDataJSON"])).digest()
    )
    signature = base64url_decode(response["signature"])
    key.public_key().verify(signature, signed, PSS, hashes.SHA256())
    longer = padding.PSS(padding.MGF1(hashes.SHA256()), salt_length=64)
    with pytest.raises(InvalidSignature):
        key.public_key().verify(signature, signed, longer, hashes.SHA256())


def test_the_two_algorithms_of_an_rsa_key_are_told_apart_after_saving() -> None:
    device, party = Authenticator(algorithms=["PS256", "RS256"]), RelyingParty()
    for identifier in (-37, -257):
        device.create(
            party.creation_options(
                pubKeyCredParams=[{"type": "public-key", "alg": identifier}],
                authenticatorSelection={"residentKey": "discouraged"},
            ),
            party.origin,
        )
    kept = Authenticator.from_json(device.to_json())
    assert [one.algorithm.name for one in kept.credentials] == ["PS256", "RS256"]


@pytest.mark.parametrize("well", [True, False])
def test_a_phone_that_is_not_what_it_was_sold_as(well: bool) -> None:
    """What SafetyNet says of it can be told: here that somebody tampered with it."""
    says = SafetyNet(profile_matches=well, has_integrity=well)
    identity = AttestationAuthority().identity(kind="android-safetynet", hardware=says)
    device = Authenticator("android-platform", attestation="android-safetynet", identity=identity)
    kept, party = Authenticator.from_json(device.to_json()), RelyingParty()
    party.trust(device)
    options = party.creation_options(attestation="direct")
    response = kept.create(options, party.origin)
    if well:
        return party.accept_registration(response)
    with pytest.raises(InvalidRegistrationResponse, match="device integrity"):
        party.verify_registration(response)
    with pytest.raises(InvalidData, match="ctsProfileMatch"):
        party.verify_registration_with_fido2(response)


@pytest.mark.parametrize("parts", [("packed", "packed-self"), ("tpm", "apple", "packed")])
def test_every_statement_of_a_compound_one_stands_alone(parts: tuple[str, ...]) -> None:
    """Section 8.9. No library has the format, so each part goes to them as if it were the whole."""
    device = Authenticator(attestation="compound", compound_of=parts, algorithms=["ES256"])
    party = RelyingParty()
    party.trust(device)
    response = device.create(party.creation_options(attestation="direct"), party.origin)
    whole: Any = fido2.cbor.decode(base64url_decode(response["response"]["attestationObject"]))
    assert whole["fmt"] == "compound"
    assert [one["fmt"] for one in whole["attStmt"]] == [p.removesuffix("-self") for p in parts]
    for one in whole["attStmt"]:
        alone = {**one, "authData": whole["authData"]}
        party.accept_registration(with_object(response, alone))
        *rest, last = alone["authData"]
        broken = {**alone, "authData": bytes([*rest, last ^ 1])}
        with pytest.raises(Exception, match=r".*"):  # each library has its own
            party.accept_registration(with_object(response, broken))


def test_a_compound_statement_is_too_deep_for_ctap_so_its_first_part_stands_for_it() -> None:
    parts = ["packed", "apple"]
    key = Authenticator(attestation="compound", compound_of=parts, algorithms=["ES256"])
    made = Ctap2(key.ctap).make_credential(
        bytes(32),
        {"id": "example.org", "name": ""},
        {"id": b"user", "name": ""},
        [{"type": "public-key", "alg": -7}],
    )
    assert made.fmt == "packed"


def with_object(response: dict, attestation: dict) -> dict:
    encoded = base64url_encode(fido2.cbor.encode(attestation))
    return {**response, "response": {**response["response"], "attestationObject": encoded}}


def certificate_of(response: dict) -> x509.Certificate:
    return x509.load_der_x509_certificate(attestation_of(response)["attStmt"]["x5c"][0])


def serial_number_of(response: dict) -> bytes | None:
    name = x509.ObjectIdentifier("1.3.6.1.4.1.45724.1.1.2")
    try:
        found = certificate_of(response).extensions.get_extension_for_oid(name)
    except x509.ExtensionNotFound:
        return None
    assert not found.critical
    value = found.value.public_bytes()
    assert value[:2] == bytes((4, len(value) - 2))  # an OCTET STRING
    return value[2:]


def test_enterprise_attestation_names_the_device_where_it_is_permitted() -> None:
    """Sections 5.4.7 and 8.2.2: the same number for as long as the device lives, and for nobody
    whom neither vendor nor client permits it."""
    device = Authenticator(enterprise_attestation=True, enterprise_rp_ids=["example.org"])
    party, other = RelyingParty(), RelyingParty("example.com", "https://example.com")
    party.trust(device)
    other.trust(device)
    assert serial_number_of(party.register(device, attestation="enterprise")) is None
    device.enable_enterprise_attestation()
    named = party.register(device, attestation="enterprise")
    number = serial_number_of(named)
    assert number
    again = Authenticator.from_json(device.to_json())
    assert serial_number_of(party.register(again, attestation="enterprise")) == number
    assert serial_number_of(party.register(device, attestation="direct")) is None
    assert serial_number_of(other.register(device, attestation="enterprise")) is None
    device.enterprise_policy.add("example.com")
    assert serial_number_of(other.register(device, attestation="enterprise")) == number
    twin = Authenticator(enterprise_attestation=True, enterprise_rp_ids=["example.org"])
    twin.enable_enterprise_attestation()
    assert serial_number_of(RelyingParty().register(twin, attestation="enterprise")) != number


def test_a_device_that_was_not_made_for_enterprises_names_itself_to_nobody() -> None:
    device, party = Authenticator(enterprise_rp_ids=["example.org"]), RelyingParty()
    device.enterprise_policy.add("example.org")
    with pytest.raises(ValueError, match="was not made for enterprise attestation"):
        device.enable_enterprise_attestation()
    assert serial_number_of(party.register(device, attestation="enterprise")) is None


@pytest.mark.parametrize(
    ("shape", "fmt"),
    [
        ("windows-hello", "tpm"),
        ("android-platform", "android-key"),
        ("touch-id", "packed"),
        ("apple-platform", "apple"),
        ("icloud-keychain", "none"),
    ],
)
def test_platforms_say_what_such_devices_say(shape: str, fmt: str) -> None:
    device, party = Authenticator(shape), RelyingParty()
    party.trust(device)
    response = party.register(device, attestation="direct")
    assert attestation_of(response)["fmt"] == fmt
    party.sign_in(device, [response["id"]])


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_public_forms_are_those_of_the_library(name: str) -> None:
    """The DER of a curve's key is put together from a fixed beginning and the point."""
    algorithm = BY_NAME[name]
    for _ in range(1 if name in ("RS256", "PS256") else 5):
        key = algorithm.generate(Entropy())
        der, cose = algorithm.public_forms(key)
        public = key.public_key()
        assert der == public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        members = {"ML": 3, "Ed": 4, "RS": 4, "PS": 4, "ES": 5}[name[:2]]
        assert cose[0] == 0xA0 | members
        if isinstance(public, ec.EllipticCurvePublicKey):
            width = (public.curve.key_size + 7) // 8
            numbers = public.public_numbers()
            assert numbers.x.to_bytes(width, "big") in cose
            assert cose.endswith(numbers.y.to_bytes(width, "big"))


@pytest.mark.parametrize("size", [0, 1, 23, 24, 37, 255, 256, 65535, 65536])
@pytest.mark.parametrize(
    "statement",
    [
        {},
        {"alg": -7, "sig": bytes(71)},
        {"x5c": [b"certificate"], "sig": bytes(71), "alg": -257},
        {"certInfo": b"", "pubArea": b"", "ver": "2.0", "x5c": [], "sig": b"", "alg": -7},
        [{"fmt": "packed", "attStmt": {}}],
    ],
    ids=["none", "self", "packed", "tpm", "compound"],
)
def test_the_attestation_object_is_canonical(size: int, statement: Any) -> None:
    """It is put together from a template, so that no other encoder sees the whole."""
    data = (bytes(range(256)) * (size // 256 + 1))[:size]
    whole = {"fmt": "a format", "attStmt": statement, "authData": data}
    made = attestation_object("a format", statement, data)
    assert made == cbor.encode(whole) == fido2.cbor.encode(whole)
    assert fido2.cbor.decode(made) == whole


def test_a_response_that_was_changed_leaves_the_next_replay_whole() -> None:
    device, party = Authenticator(), RelyingParty()
    first = device.create(party.creation_options(), party.origin)
    whole = copy.deepcopy(first)
    first["response"]["transports"].append("changed")
    first["clientExtensionResults"]["changed"] = True
    assert device.create(party.creation_options(), party.origin, faults="replayed") == whole


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (None, "ML-DSA-65: expected a newer cryptography library"),
        (SimpleNamespace(), "ML-DSA-65: the OpenSSL of the cryptography library lacks it"),
    ],
    ids=["library", "OpenSSL"],
)
def test_an_algorithm_that_the_library_lacks_is_refused_at_once(
    module: Any, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Lacking:
        @staticmethod
        def from_seed_bytes(_: bytes) -> None:
            raise UnsupportedAlgorithm("not here")

    Authenticator(algorithms=["ML-DSA-65"])  # the twin: it is here
    if module is not None:
        module.MLDSA65PrivateKey = Lacking
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric.mldsa", module)
    monkeypatch.setattr(cryptography.hazmat.primitives.asymmetric, "mldsa", module, raising=False)
    if module is None:
        monkeypatch.delattr(cryptography.hazmat.primitives.asymmetric, "mldsa")
    with pytest.raises(ValueError, match=words):
        Authenticator(algorithms=["ES256", "ML-DSA-65"])
    Authenticator(algorithms=["ES256"])
