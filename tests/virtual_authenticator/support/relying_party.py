"""A relying party that two independent libraries run: py_webauthn and python-fido2's server.

It issues options as a server sends them and judges what comes back. Every `verify_...` raises when
its library refuses the response, and keeps the public key and the counter when it accepts it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from fido2 import cbor
from fido2.attestation import (
    Attestation,
    InvalidSignature,
    UntrustedAttestation,
    verify_x509_chain,
)
from fido2.cose import CoseKey, UnsupportedKey
from fido2.server import Fido2Server
from fido2.webauthn import (
    AttestationConveyancePreference,
    AttestationObject,
    AttestedCredentialData,
    AuthenticatorData,
    PublicKeyCredentialRpEntity,
)
from webauthn import verify_authentication_response, verify_registration_response
from webauthn.authentication.verify_authentication_response import VerifiedAuthentication
from webauthn.helpers.cose import COSEAlgorithmIdentifier
from webauthn.helpers.structs import AttestationFormat
from webauthn.registration.verify_registration_response import VerifiedRegistration

from virtual_authenticator import Authenticator
from virtual_authenticator.encoding import base64url_decode, base64url_encode

ALGORITHMS = {
    "ES256": -7,
    "EdDSA": -8,
    "ES384": -35,
    "ES512": -36,
    "RS256": -257,
    "PS256": -37,
    "ES256K": -47,
    "Ed448": -53,
    "ML-DSA-44": -48,
    "ML-DSA-65": -49,
    "ML-DSA-87": -50,
}
RARER_ALGORITHMS = {
    "ESP256": -9,
    "ESP384": -51,
    "ESP512": -52,
    "Ed25519": -19,
    "RS384": -258,
    "RS512": -259,
    "PS384": -38,
    "PS512": -39,
    "RS1": -65535,
}
"""What few relying parties offer, and this one only when it is told to."""
PY_WEBAUTHN_ALGORITHMS = list(COSEAlgorithmIdentifier)
"""py_webauthn 3 has no ES384, ES256K, Ed448 and no fully specified names: such responses are for
python-fido2 alone."""
FIDO2_ALGORITHMS = {
    identifier
    for identifier in (ALGORITHMS | RARER_ALGORITHMS).values()
    if CoseKey.for_alg(identifier) is not UnsupportedKey
}
"""python-fido2 2 has none of RSA with longer digests: such responses are for py_webauthn alone."""
PY_WEBAUTHN_FORMATS = tuple(AttestationFormat)
FIDO2_FORMATS = ("none", "packed", "fido-u2f", "tpm", "android-safetynet", "apple")
"""Neither library has the compound format; python-fido2 2 has no android-key."""


@dataclass
class StoredCredential:
    """What a relying party keeps of a registration."""

    public_key: bytes
    sign_count: int
    attested: AttestedCredentialData | None = None


class RelyingParty:
    """Issues options and verifies responses; one user, any number of credentials."""

    def __init__(self, rp_id: str = "example.org", origin: str = "https://example.org") -> None:
        self.rp_id = rp_id
        self.origin = origin
        self.user_id = os.urandom(16)
        self.stored: dict[str, StoredCredential] = {}
        """By the base64url form of the credential id."""
        self.challenge = b""
        """The one issued last: what the next response has to answer."""
        self.require_user_verification = False
        self.roots: list[bytes] = []
        """Trust anchors, PEM. Without any, no chain is checked."""

    def trust(self, authenticator: Authenticator) -> None:
        """From now on only attestation certificates of this authenticator's CA (or of another
        trusted one) are accepted."""
        self.roots.append(authenticator.attestation_authority.root_pem)

    # ---- options

    def creation_options(self, **changes: Any) -> dict[str, Any]:
        """PublicKeyCredentialCreationOptionsJSON; `changes` are its members, whole."""
        options = {
            "rp": {"id": self.rp_id, "name": "Example"},
            "user": {
                "id": base64url_encode(self.user_id),
                "name": "ada@example.org",
                "displayName": "Ada",
            },
            "challenge": base64url_encode(os.urandom(32)),
            "pubKeyCredParams": [
                {"type": "public-key", "alg": identifier} for identifier in ALGORITHMS.values()
            ],
            **changes,
        }
        self._issue(options, options.get("authenticatorSelection") or {})
        return options

    def request_options(
        self, credential_ids: list[str | bytes] | None = None, **changes: Any
    ) -> dict[str, Any]:
        """PublicKeyCredentialRequestOptionsJSON; without ids, any discoverable credential does."""
        options: dict[str, Any] = {
            "rpId": self.rp_id,
            "challenge": base64url_encode(os.urandom(32)),
        }
        if credential_ids is not None:
            options["allowCredentials"] = [descriptor(one) for one in credential_ids]
        options.update(changes)
        self._issue(options, options)
        return options

    def _issue(self, options: dict[str, Any], selection: dict[str, Any]) -> None:
        self.challenge = base64url_decode(options["challenge"])
        self.require_user_verification = selection.get("userVerification") == "required"

    # ---- py_webauthn

    def verify_registration(self, response: dict[str, Any]) -> VerifiedRegistration:
        verified = verify_registration_response(
            credential=response,
            expected_challenge=self.challenge,
            expected_rp_id=self.rp_id,
            expected_origin=self.origin,
            require_user_verification=self.require_user_verification,
            supported_pub_key_algs=PY_WEBAUTHN_ALGORITHMS,
            # New lists: py_webauthn adds roots of its own to those of Android and Apple.
            pem_root_certs_bytes_by_fmt={each: [*self.roots] for each in AttestationFormat},
        )
        held = self.stored.setdefault(
            response["id"], StoredCredential(verified.credential_public_key, verified.sign_count)
        )
        held.public_key = verified.credential_public_key
        held.sign_count = verified.sign_count
        return verified

    def verify_assertion(self, response: dict[str, Any]) -> VerifiedAuthentication:
        held = self.stored[response["id"]]
        verified = verify_authentication_response(
            credential=response,
            expected_challenge=self.challenge,
            expected_rp_id=self.rp_id,
            expected_origin=self.origin,
            credential_public_key=held.public_key,
            credential_current_sign_count=held.sign_count,
            require_user_verification=self.require_user_verification,
        )
        held.sign_count = verified.new_sign_count
        return verified

    # ---- python-fido2, which looks at no counter

    def verify_registration_with_fido2(self, response: dict[str, Any]) -> AuthenticatorData:
        """Attestation statements are verified too, and their chains where there are roots."""
        data = self._server().register_complete(self._state(), response)
        attested = data.credential_data
        assert attested is not None
        held = self.stored.setdefault(
            response["id"], StoredCredential(cbor.encode(dict(attested.public_key)), data.counter)
        )
        held.attested = attested
        return data

    def verify_assertion_with_fido2(self, response: dict[str, Any]) -> AttestedCredentialData:
        known = [one.attested for one in self.stored.values() if one.attested is not None]
        return self._server().authenticate_complete(self._state(), known, response)

    def _server(self) -> Fido2Server:
        return Fido2Server(
            PublicKeyCredentialRpEntity(id=self.rp_id, name="Example"),
            attestation=AttestationConveyancePreference.DIRECT,
            verify_origin=lambda origin: origin == self.origin,
            verify_attestation=self._verify_attestation,
        )

    def _state(self) -> dict[str, Any]:
        return {
            "challenge": base64url_encode(self.challenge),
            "user_verification": "required" if self.require_user_verification else None,
        }

    def _verify_attestation(self, attestation: AttestationObject, digest: bytes) -> None:
        statement = Attestation.for_type(attestation.fmt)()
        result = statement.verify(attestation.att_stmt, attestation.auth_data, digest)
        if self.roots and result.trust_path:
            self._verify_chain(result.trust_path)

    def _verify_chain(self, chain: list[bytes]) -> None:
        issuer = x509.load_der_x509_certificate(chain[-1]).issuer
        for pem in self.roots:
            root = x509.load_pem_x509_certificate(pem)
            if root.subject == issuer:
                try:
                    return verify_x509_chain([*chain, root.public_bytes(Encoding.DER)])
                except InvalidSignature:
                    continue  # another authority of the same name
        raise UntrustedAttestation("no root that is trusted here issued the chain")

    # ---- both

    def register(self, authenticator: Authenticator, **changes: Any) -> dict[str, Any]:
        """A whole registration that both libraries have to accept (ES384: python-fido2)."""
        response = authenticator.create(self.creation_options(**changes), self.origin)
        self.accept_registration(response)
        return response

    def sign_in(
        self,
        authenticator: Authenticator,
        credential_ids: list[str | bytes] | None = None,
        **changes: Any,
    ) -> dict[str, Any]:
        """A whole assertion that both libraries have to accept."""
        response = authenticator.get(self.request_options(credential_ids, **changes), self.origin)
        self.accept_assertion(response)
        return response

    def accept_registration(self, response: dict[str, Any]) -> None:
        """Each library that knows algorithm and format has to accept it, and one of them does."""
        fmt = AttestationObject(base64url_decode(response["response"]["attestationObject"])).fmt
        data = None
        algorithm = response["response"]["publicKeyAlgorithm"]
        if fmt in FIDO2_FORMATS and algorithm in FIDO2_ALGORITHMS:
            data = self.verify_registration_with_fido2(response)
            assert data.credential_data is not None
        if algorithm in PY_WEBAUTHN_ALGORITHMS and fmt in PY_WEBAUTHN_FORMATS:
            self.verify_registration(response)
        else:
            assert data is not None, "no library verified this"

    def accept_assertion(self, response: dict[str, Any]) -> None:
        held = self.stored[response["id"]]
        attested = None
        if held.attested is not None:  # python-fido2 verified the registration
            attested = self.verify_assertion_with_fido2(response)
        if attested is None or attested.public_key.ALGORITHM in PY_WEBAUTHN_ALGORITHMS:
            self.verify_assertion(response)


def descriptor(credential_id: str | bytes) -> dict[str, Any]:
    """A PublicKeyCredentialDescriptorJSON."""
    text = credential_id if isinstance(credential_id, str) else base64url_encode(credential_id)
    return {"type": "public-key", "id": text}
