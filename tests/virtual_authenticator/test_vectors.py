"""W3C's Level 3 test vectors, made anew from their inputs.

The inputs follow from one phrase by HKDF (WebAuthn Level 3, section 16): each value takes the next
salt. The outputs are pinned as digests, so that no file from elsewhere is needed. What is checked
is the very bytes of all 15: client data, authenticator data, signature, attestation object.

Two of them say of their hardware what this package would not say by itself, because verifiers
refuse it: the TPM's vendor is unknown and its clock's "safe" is neither yes nor no (0x33), and
Android's keystore names neither purpose nor origin of the key, which section 8.4 asks for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from virtual_authenticator import (
    AlwaysZero,
    AndroidKeystore,
    AttestationAuthority,
    AttestationIdentity,
    Authenticator,
    Profile,
    TpmChip,
)
from virtual_authenticator.algorithms import BY_NAME, PrivateKey, rsa_from_primes
from virtual_authenticator.encoding import base64url_decode, base64url_encode

PHRASE = b"WebAuthn test vectors"
ORIGIN = "https://example.org"
EXTRA = (
    "clientDataJSON may be extended with additional fields in the future, such as this: {random}"
)


def derive(salt: int, info: str, length: int) -> bytes:
    return HKDF(hashes.SHA256(), length, bytes([salt]), info.encode()).derive(PHRASE)


class Inputs:
    """The values of one vector, in the order in which they are drawn."""

    def __init__(self, info: str) -> None:
        self.info = info
        self._salts: Iterator[int] = iter(range(256))

    def take(self, length: int) -> bytes:
        return derive(next(self._salts), self.info, length)


@dataclass(frozen=True)
class Vector:
    info: str
    algorithm: str
    attestation: str
    authenticator_data: str
    signature: str
    attestation_object: str
    client_data: tuple[str, str]
    key_length: int = 32
    challenge_length: int = 32
    credential_id_length: int = 32
    page: dict[str, Any] = field(default_factory=dict)


TOP = {"top_origin": "https://example.com"}
FRAMED = {"cross_origin": True}

# info, algorithm, attestation, then digests of authenticatorData, signature, attestationObject and
# of clientDataJSON at registration and at sign-in
VECTORS = [
    Vector(
        "none.ES256",
        "ES256",
        "none",
        "2fa3688ce26520481b38f218e1289f8d",
        "e6b84e03104e4fc5f59dee5f5bab455b",
        "c0aa49c57f59765c9f47e6000c04dfe6",
        ("090d1e7dfd42dcc631e7a4f02070fe3b", "676a6e380fd31ea5710705c7be1ac488"),
    ),
    Vector(
        "packed-self.ES256",
        "ES256",
        "packed-self",
        "9677cbe5585eb74d7b290a838670c648",
        "3d937eef718b4b203b5b6946ed87aa57",
        "69499bf5257be4e618f4462e458666d9",
        ("dba5494aa6958e286220403054776b48", "3ca7729f6c9e573e94fea8348130befa"),
    ),
    Vector(
        "none.ES256.crossOrigin",
        "ES256",
        "none",
        "e530971bef6ed8ed544a9b6b8ed2e45a",
        "f5cddf0485f53ec467c0b5207a1bb74e",
        "967a55ac8209a99f56256db28c4d03cd",
        ("7c50806271f10c33dd940bc653345173", "5433303f133eeec1c6ef3d8bddad49f6"),
        page=FRAMED,
    ),
    Vector(
        "none.ES256.topOrigin",
        "ES256",
        "none",
        "e530971bef6ed8ed544a9b6b8ed2e45a",
        "62363fd190f6effa21867a32faf18fca",
        "e88a736a22ffaf294316d8b00da95a96",
        ("bdec4b206994e95a790a47dd42819dec", "429e6077534d353c23193006e88028cb"),
        page=TOP,
    ),
    Vector(
        "none.ES256.long-credential-id",
        "ES256",
        "none",
        "9be5db22cd8c08f6307b8e68b41cb0c8",
        "8a535737a42267202487c63354aeb8e4",
        "c70087bde55d1a8207667876cfe14924",
        ("aed6ca40d39066d79556a637e5b255e2", "29330151c4baa26d2f6eff75dfae3f1e"),
        credential_id_length=1023,
    ),
    Vector(
        "packed.ES256",
        "ES256",
        "packed",
        "9be5db22cd8c08f6307b8e68b41cb0c8",
        "b0aca0f05fe415d3769bbb8a5ec36adc",
        "c1bf702bac165f17a6c450e726d549f2",
        ("cee5d6466550d0f1e228c0284a59caa3", "1f830b6dcd0c81fde2f326f7d7bb47c9"),
    ),
    Vector(
        "packed.ES384",
        "ES384",
        "packed",
        "9be5db22cd8c08f6307b8e68b41cb0c8",
        "2f42cb81fee850922d8268b5514a2732",
        "14e3d1de4e72192357fad579f7a39ad4",
        ("a6bd843b9ded40d3ebde73b095f1d99b", "85c49dd2bc85a3f9d8706d998809e4f8"),
        key_length=48,
    ),
    Vector(
        "packed.ES512",
        "ES512",
        "packed",
        "2fa3688ce26520481b38f218e1289f8d",
        "669827dc3f71149c4d50dd3bce9a7016",
        "342df2067e760ff21fa7b847c47f3984",
        ("cefe364c524b0d61289db9d8bf4af677", "835a16bf94641d3c3d4de1bc66dacbfe"),
        key_length=65,
        challenge_length=128,
    ),
    Vector(
        "packed.RS256",
        "RS256",
        "packed",
        "2fa3688ce26520481b38f218e1289f8d",
        "5968d9d3a20c517688fe7e7c8d8d8bbc",
        "55803b9a593a4f965f3fceae108bbf7c",
        ("7cac6a56c3dfcd82a508239de4249cbf", "8d3c241da41b4168d77931bd9107be02"),
    ),
    Vector(
        "packed.EdDSA",
        "EdDSA",
        "packed",
        "29880f3e538e63c86450da5c02f32faf",
        "63cdbd608d9eae1bcbff5a3fcb2e1472",
        "b4bad136a711231e46696006716a16a0",
        ("d03e51a83301ce11d8da5137027e278d", "4add3082a15ab4595b58820e913a01c0"),
    ),
    Vector(
        "packed.Ed448",
        "Ed448",
        "packed",
        "0efacb5e1dcb985a07b1b8b79f9954cd",
        "e63e77260d32c2a40cb8cb25f9ec2fcd",
        "2eb321e600beb1389bf8191aa097008a",
        ("027cf3a47e4515dcb0a8641f8791532a", "274360ed3cec61b8f26f71f0385aa5e9"),
        key_length=57,
    ),
    Vector(
        "tpm.ES256",
        "ES256",
        "tpm",
        "9be5db22cd8c08f6307b8e68b41cb0c8",
        "22d542b003918131e8c818d5d9950eb8",
        "84b354fd9daa1df47131a07f13eaa5f4",
        ("729b813de91b2d25cafd3a6ec240b6b9", "19faa0cdd64637b3caeac5021ab3d81a"),
    ),
    Vector(
        "android-key.ES256",
        "ES256",
        "android-key",
        "9677cbe5585eb74d7b290a838670c648",
        "711f02cf0fe56f03e00f149a68438c94",
        "b537cb59ca2a824ddd85508f64a88845",
        ("b435028d7b6a8f83bb461d41c19b053a", "f5c6cfc61597da68d63f90d51f3bc86f"),
    ),
    Vector(
        "apple.ES256",
        "ES256",
        "apple",
        "9677cbe5585eb74d7b290a838670c648",
        "938230cf48f179fdea8ce8f9d4e47be6",
        "cd0bf0c818d9a9078f2bfc2d10b7b3c7",
        ("7c07579a0d6417c2ebff99c50e439d5a", "e3d7ea5ad2c9199c2259976eeed22718"),
    ),
    Vector(
        "fido-u2f.ES256",
        "ES256",
        "fido-u2f",
        "29880f3e538e63c86450da5c02f32faf",
        "b0608ec74375dbafdf8d75bf0919f58c",
        "e6e3c76723c5ce4a8a9ae2f0ad103506",
        ("6970f8e417cf371997186aa92d7a63dc", "4abcb194570148c86d3bb04239422426"),
    ),
]


def client_data_extra(inputs: Inputs) -> dict[str, str]:
    """Bit 0 of a drawn byte says whether the client data gets a member that nobody knows."""
    if not inputs.take(1)[0] & 1:
        return {}
    return {"extraData": EXTRA.format(random=base64url_encode(inputs.take(16)))}


def credential_key(vector: Vector, inputs: Inputs) -> PrivateKey:
    if vector.algorithm == "RS256":  # the two smallest Mersenne primes of at least 1024 bits
        return rsa_from_primes(2**1279 - 1, 2**2203 - 1)
    return BY_NAME[vector.algorithm].from_secret(inputs.take(vector.key_length))


def curve_key(secret: bytes) -> ec.EllipticCurvePrivateKey:
    return ec.derive_private_key(int.from_bytes(secret, "big"), ec.SECP256R1())


def authority() -> PublishedAuthority:
    return PublishedAuthority(
        organization="W3C",
        common_name="WebAuthn test vectors",
        key=curve_key(derive(0, "Attestation CA", 32)),
        serial=derive(1, "Attestation CA", 16),
    )


PUBLISHED_CHIP = TpmChip(
    manufacturer="id:00000000",
    model="WebAuthn test vectors",
    version="id:00000000",
    algorithm="ES256",
    attributes=1 << 18,
    clock=bytes.fromhex("0000000000000000111111112222222233"),
)
PUBLISHED_KEYSTORE = AndroidKeystore(keystore_version=0, security_level=0, purposes=(), origin=None)


class PublishedAuthority(AttestationAuthority):
    """Gives the next certificate the serial number of the vector."""

    serials: ClassVar[list[bytes]] = []

    def new_serial(self) -> bytes:
        return self.serials.pop()


def identity_of(vector: Vector, inputs: Inputs) -> AttestationIdentity | None:
    kind = vector.attestation
    if kind in ("packed", "fido-u2f", "tpm"):
        return authority().identity(
            kind="tpm" if kind == "tpm" else "packed",
            hardware=PUBLISHED_CHIP if kind == "tpm" else None,
            key=curve_key(inputs.take(32)),
            serial=inputs.take(16),
        )
    if kind in ("android-key", "apple"):  # the root issues the certificate of each credential
        issuer = authority()
        issuer.serials.append(inputs.take(16))
        return issuer.root_identity(
            kind, hardware=PUBLISHED_KEYSTORE if kind == "android-key" else None
        )
    return None


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def test_the_root_certificate_is_the_published_one():
    assert digest(authority().root) == "68ff927708f5d229252ffe4a1c6842c1"


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.info)
def test_outputs_are_the_published_ones(vector: Vector):
    inputs = Inputs(vector.info)
    challenge = inputs.take(vector.challenge_length)
    key = credential_key(vector, inputs)
    extra = client_data_extra(inputs)
    aaguid = inputs.take(16)
    credential_id = inputs.take(vector.credential_id_length)
    # fido-u2f knows no verification and no backup.
    flags = inputs.take(1)[0] if vector.attestation != "fido-u2f" else 0
    identity = identity_of(vector, inputs)
    second_challenge = inputs.take(vector.challenge_length)
    second_extra = client_data_extra(inputs)
    second_flags = inputs.take(1)[0]

    eligible = bool(flags & 0x08)
    device = Authenticator(
        Profile(
            aaguid=aaguid,
            algorithms=(vector.algorithm,),
            attestation=vector.attestation,
            counter=AlwaysZero(),
            backup_eligible=eligible,
            backup_state=(eligible and bool(flags & 0x10), eligible and bool(second_flags & 0x10)),
            # In U2F a touch is all there is: no vector of that kind has UV set.
            user_verification="none" if vector.attestation == "fido-u2f" else "built-in",
        ),
        seed="signatures by RFC 6979",
        identity=identity,
    )
    registration = device.create(
        {
            "rp": {"id": "example.org", "name": "Example"},
            "user": {"id": "dXNlcg", "name": "user", "displayName": "User"},
            "challenge": base64url_encode(challenge),
            "pubKeyCredParams": [
                {"type": "public-key", "alg": BY_NAME[vector.algorithm].identifier}
            ],
            "authenticatorSelection": {"userVerification": wanted(flags)},
            "attestation": "none" if vector.attestation == "none" else "direct",
        },
        ORIGIN,
        credential_id=credential_id,
        private_key=key,
        client_data_extra=extra,
        **vector.page,
    )
    assertion = device.get(
        {
            "challenge": base64url_encode(second_challenge),
            "rpId": "example.org",
            "allowCredentials": [{"type": "public-key", "id": base64url_encode(credential_id)}],
            "userVerification": wanted(second_flags),
        },
        ORIGIN,
        client_data_extra=second_extra,
        **vector.page,
    )

    assert {
        "authenticatorData": digest(base64url_decode(assertion["response"]["authenticatorData"])),
        "signature": digest(base64url_decode(assertion["response"]["signature"])),
        "attestationObject": digest(
            base64url_decode(registration["response"]["attestationObject"])
        ),
        "clientDataJSON": tuple(
            digest(base64url_decode(each["response"]["clientDataJSON"]))
            for each in (registration, assertion)
        ),
    } == {
        "authenticatorData": vector.authenticator_data,
        "signature": vector.signature,
        "attestationObject": vector.attestation_object,
        "clientDataJSON": vector.client_data,
    }


def wanted(flags: int) -> str:
    return "preferred" if flags & 0x04 else "discouraged"


# ---- prf (section 16, "Pseudo-random function extension"): inputs and outputs of page and key

PRF_SEED = b"WebAuthn PRF test vectors"
PRF_OUTPUTS = {
    "first": "3c33e07d202c3b029cc21f1722767021bf27d595933b3d2b6a1b9d5dddc77fae",
    "second": "a62a8773b19cda90d7ed4ef72a80a804320dbd3997e2f663805ad1fd3293d50b",
}


@pytest.mark.parametrize("shape", ["icloud-keychain", "security-key"])
@pytest.mark.parametrize("names", [["first"], ["first", "second"]], ids=len)
def test_prf_results_are_the_published_ones(shape: str, names: list[str]) -> None:
    device = Authenticator(shape)
    selection = {"residentKey": "required"}
    device.create(
        {
            "rp": {"id": "example.org", "name": "Example"},
            "user": {"id": "dXNlcg", "name": "user", "displayName": "User"},
            "challenge": "AAAA",
            "pubKeyCredParams": [{"type": "public-key", "alg": -7}],
            "authenticatorSelection": selection,
        },
        ORIGIN,
    )
    secret = hashlib.sha256(PRF_SEED + b"\x06").digest()
    device.credentials[0].secrets = (secret, bytes(32))  # with verification, and without
    inputs = {"first": PRF_SEED + b"\x02", "second": PRF_SEED + b"\x03"}
    evaluated = {name: base64url_encode(inputs[name]) for name in names}

    def results(verification: str) -> Any:
        response = device.get(
            {
                "challenge": "AAAA",
                "rpId": "example.org",
                "userVerification": verification,
                "extensions": {"prf": {"eval": evaluated}},
            },
            ORIGIN,
        )
        found = response["clientExtensionResults"]["prf"]["results"]
        return {name: base64url_decode(value).hex() for name, value in found.items()}

    assert results("required") == {name: PRF_OUTPUTS[name] for name in names}
    if not device.profile.always_verifies:
        assert results("discouraged") != {name: PRF_OUTPUTS[name] for name in names}
