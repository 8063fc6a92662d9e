"""WebAuthn as a relying party: is this registration, is this assertion what was asked for?

One small method for each check, in the order of WebAuthn Level 3, sections 7.1 and 7.2; each raises
`VerificationError`, and none returns a bool. py_webauthn does parsing, keys, signatures and
attestation formats. Its two all-in-one functions are not used: they check the counter before the
signature, accept `crossOrigin: true`, and accept an `id` that is not the attested one.

Does not know how long challenges live, stored counters, users or reasons: those are in the gate.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from cryptography.x509 import UnrecognizedExtension, load_der_x509_certificate
from webauthn.helpers import (
    encode_cbor,
    parse_attestation_object,
    parse_authenticator_data,
    parse_cbor,
)
from webauthn.helpers.structs import AttestationObject, AuthenticatorData
from webauthn.registration.formats.android_key import verify_android_key
from webauthn.registration.formats.apple import verify_apple
from webauthn.registration.formats.fido_u2f import verify_fido_u2f
from webauthn.registration.formats.packed import verify_packed
from webauthn.registration.formats.tpm import verify_tpm

from ...families.sep2672.vocabulary import base64url_decode, base64url_encode
from . import public_keys
from .records import CredentialRecord

MAXIMUM_CREDENTIAL_ID = 1023
_MODEL_EXTENSION = "1.3.6.1.4.1.45724.1.1.4"
"""id-fido-gen-ce-aaguid: whose certificate it is (WebAuthn, section 8.2.1)."""
Result = TypeVar("Result")
_STATEMENTS: dict[str, Callable[..., bool]] = {
    "packed": verify_packed,
    "tpm": verify_tpm,
    "apple": verify_apple,
    "android-key": verify_android_key,
}


class VerificationError(ValueError):
    """A WebAuthn response is not what it must be; the message may be sent to a client."""


@dataclass(frozen=True)
class Registration:
    credential_id: bytes
    public_key: bytes
    counter: int
    transports: tuple[str, ...]
    backup_eligible: bool


class RelyingParty:
    """The party that credentials are registered with, and the pages that it is reached from."""

    def __init__(
        self,
        id: str = "localhost",
        *,
        name: str = "Reference server",
        origins: Sequence[str] = ("http://localhost",),
        algorithms: Sequence[int] = public_keys.ALGORITHMS,
        models: Mapping[str, Sequence[bytes]] | None = None,
    ) -> None:
        """`models`: the only authenticators that may register, by AAGUID, with the certificates
        (PEM) of those who attest them; a key made of software has none. None: any."""
        if not origins or isinstance(origins, str):
            raise ValueError(f"origins: got {origins!r}, expected a list of at least one")
        self.id = id
        self.name = name
        self.origins = tuple(origins)
        self.algorithms = tuple(algorithms)
        self.models = {name.lower(): list(roots) for name, roots in (models or {}).items()}
        if not all(self.models.values()):
            raise ValueError("models: got one without a certificate, expected who attests it")

    def accept_origin(self, origin: str) -> None:
        """One more page that it may be reached from."""
        if origin not in self.origins:
            self.origins = (*self.origins, origin)

    # ---- section 7.1: registering

    def verify_registration(self, response: Any, challenge: bytes) -> Registration:
        """The new credential in a RegistrationResponseJSON, or `VerificationError`."""
        return _guarded(lambda: self._verify_registration(response, challenge))

    def _verify_registration(self, response: Any, challenge: bytes) -> Registration:
        inner = self.check_envelope(response)
        client_data_bytes = _decoded(inner, "clientDataJSON")
        client_data = parse_client_data(client_data_bytes)
        # Steps 7 to 11: what the client collected.
        self.check_type(client_data, "webauthn.create")
        self.check_challenge(client_data, challenge)
        self.check_origin(client_data)
        self.check_cross_origin(client_data)
        # Steps 13 to 19: what the authenticator says.
        attestation_bytes = _decoded(inner, "attestationObject")
        attestation = self.check_attestation_object(attestation_bytes)
        data = attestation.auth_data
        self.check_relying_party_hash(data)
        self.check_user_present(data)
        self.check_user_verified(data)
        self.check_backup_flags(data, None)
        credential_id, public_key = self.check_attested_credential(data)
        # Step 20, and 6.5.1.1: the algorithm was offered, the key is one.
        self.check_algorithm(public_key)
        self.check_public_key(public_key)
        # Steps 21 to 24: the statement is signed as its format says; by whom matters only if there
        # are models.
        self.check_model(attestation)
        self.check_attestation_statement(attestation, attestation_bytes, client_data_bytes)
        # Step 25 and 5.8.3: the id is the attested one, and of sane length.
        self.check_credential_id(response, credential_id)
        return Registration(
            credential_id=credential_id,
            public_key=public_key,
            counter=data.sign_count,
            transports=self.check_transports(inner.get("transports")),
            backup_eligible=data.flags.be,
        )

    # ---- section 7.2: asserting

    def verify_assertion(self, response: Any, challenge: bytes, key: CredentialRecord) -> int:
        """The counter that an AuthenticationResponseJSON shows, or `VerificationError`."""
        return _guarded(lambda: self._verify_assertion(response, challenge, key))

    def _verify_assertion(self, response: Any, challenge: bytes, key: CredentialRecord) -> int:
        inner = self.check_envelope(response)
        self.check_credential_id(response, key.credential_id)
        # Step 6: if a user is named, it is the owner of the credential.
        self.check_user_handle(inner, key)
        client_data_bytes = _decoded(inner, "clientDataJSON")
        client_data = parse_client_data(client_data_bytes)
        # Steps 10 to 14: what the client collected.
        self.check_type(client_data, "webauthn.get")
        self.check_challenge(client_data, challenge)
        self.check_origin(client_data)
        self.check_cross_origin(client_data)
        # Steps 15 to 18: what the authenticator says.
        data_bytes = _decoded(inner, "authenticatorData")
        data = parse_authenticator_data(data_bytes)
        self.check_relying_party_hash(data)
        self.check_user_present(data)
        self.check_user_verified(data)
        self.check_backup_flags(data, key)
        # Steps 20 and 21. Step 22, the counter, is in the gate.
        self.check_signature(
            key, _decoded(inner, "signature"), data_bytes + _sha256(client_data_bytes)
        )
        return data.sign_count

    # ---- the checks of both ceremonies

    def check_envelope(self, response: Any) -> Mapping[str, Any]:
        """The members that every PublicKeyCredentialJSON has; returns its `response`."""
        if not isinstance(response, Mapping):
            raise VerificationError(f"response: got {kind_of(response)}, expected an object")
        if response.get("type") != "public-key":
            raise VerificationError("type: got another value, expected 'public-key'")
        inner = response.get("response")
        if not isinstance(inner, Mapping):
            raise VerificationError(f"response.response: got {kind_of(inner)}, expected an object")
        return inner

    def check_type(self, client_data: Mapping[str, Any], expected: str) -> None:
        if client_data.get("type") != expected:
            raise VerificationError(f"client data's type: got another value, expected {expected!r}")

    def check_challenge(self, client_data: Mapping[str, Any], expected: bytes) -> None:
        claimed = str(client_data.get("challenge")).encode("utf-8", "replace")
        if not hmac.compare_digest(claimed, base64url_encode(expected).encode()):
            raise VerificationError(
                "client data's challenge: got another value, expected the one that was issued"
            )

    def check_origin(self, client_data: Mapping[str, Any]) -> None:
        claimed = client_data.get("origin")
        if claimed not in self.origins:
            shown = repr(claimed)[:80] if isinstance(claimed, str) else kind_of(claimed)
            raise VerificationError(
                f"client data's origin: got {shown}, expected {' or '.join(self.origins)}"
            )

    def check_cross_origin(self, client_data: Mapping[str, Any]) -> None:
        if client_data.get("crossOrigin", False) is not False or "topOrigin" in client_data:
            raise VerificationError("client data: got a framed page, expected one that is not")

    def check_relying_party_hash(self, data: AuthenticatorData) -> None:
        if not hmac.compare_digest(data.rp_id_hash, _sha256(self.id.encode("utf-8"))):
            raise VerificationError(f"rpIdHash: got another party's, expected that of {self.id!r}")

    def check_user_present(self, data: AuthenticatorData) -> None:
        if not data.flags.up:
            raise VerificationError("flag UP: got 0, expected 1")

    def check_user_verified(self, data: AuthenticatorData) -> None:
        if not data.flags.uv:
            raise VerificationError("flag UV: got 0, expected 1")

    def check_backup_flags(self, data: AuthenticatorData, key: CredentialRecord | None) -> None:
        if data.flags.bs and not data.flags.be:
            raise VerificationError("flag BS: got 1 with BE 0, expected BE 1 with it")
        if key is not None and data.flags.be != key.backup_eligible:
            raise VerificationError("flag BE: got another value than at registration")

    def check_credential_id(self, response: Mapping[str, Any], expected: bytes) -> None:
        for name in ("id", "rawId"):
            if response.get(name) != base64url_encode(expected):
                raise VerificationError(f"{name}: got another id than the credential's own")
        if not 1 <= len(expected) <= MAXIMUM_CREDENTIAL_ID:
            raise VerificationError(
                f"credential id: got {len(expected)} bytes, expected 1 to {MAXIMUM_CREDENTIAL_ID}"
            )

    # ---- the checks of a registration

    def check_attestation_object(self, encoded: bytes) -> AttestationObject:
        # Encoded again it must be the same: one value, nothing after it, no member twice.
        if encode_cbor(parse_cbor(encoded)) != encoded:
            raise VerificationError("attestationObject: got other CBOR than CTAP2 writes")
        return parse_attestation_object(encoded)

    def check_attested_credential(self, data: AuthenticatorData) -> tuple[bytes, bytes]:
        attested = data.attested_credential_data
        if attested is None:
            raise VerificationError("attested credential data: got none, expected a new credential")
        return attested.credential_id, attested.credential_public_key

    def check_algorithm(self, public_key: bytes) -> None:
        algorithm = public_keys.algorithm_of(public_key)
        if algorithm not in self.algorithms:
            offered = ", ".join(map(str, self.algorithms))
            raise VerificationError(f"algorithm: got {algorithm}, expected one of {offered}")

    def check_public_key(self, public_key: bytes) -> None:
        try:
            public_keys.load(public_key)
        except Exception as error:
            raise VerificationError("public key: got no valid key of its algorithm") from error

    def check_model(self, attestation: AttestationObject) -> None:
        if not self.models:
            return
        if not attestation.att_stmt.x5c:
            raise VerificationError(
                "attestation: got none by a maker, expected that of a known model"
            )
        if _model(attestation) not in self.models:
            raise VerificationError("AAGUID: got that of another model, expected a known one")
        certificate = load_der_x509_certificate(attestation.att_stmt.x5c[0])
        for extension in certificate.extensions:
            named = extension.value
            if extension.oid.dotted_string == _MODEL_EXTENSION and (
                not isinstance(named, UnrecognizedExtension)
                or named.value[2:] != UUID(_model(attestation)).bytes
            ):
                raise VerificationError("attestation: got a certificate of another model")

    def check_attestation_statement(
        self, attestation: AttestationObject, encoded: bytes, client_data: bytes
    ) -> None:
        attested = attestation.auth_data.attested_credential_data
        assert attested is not None  # check_attested_credential came before
        common: dict[str, Any] = {
            "attestation_statement": attestation.att_stmt,
            "client_data_json": client_data,
            "credential_public_key": attested.credential_public_key,
            "pem_root_certs_bytes": self.models.get(_model(attestation), []),
        }
        if attestation.fmt == "none":
            valid = parse_cbor(encoded).get("attStmt") == {}
        elif attestation.fmt == "fido-u2f":
            valid = verify_fido_u2f(
                rp_id_hash=attestation.auth_data.rp_id_hash,
                credential_id=attested.credential_id,
                aaguid=attested.aaguid,
                **common,
            )
        elif attestation.fmt in _STATEMENTS:
            valid = _STATEMENTS[attestation.fmt](attestation_object=encoded, **common)
        else:
            raise VerificationError("attestation format: got one that is not known here")
        if not valid:
            raise VerificationError("attestation statement: got one that does not verify")

    def check_transports(self, given: Any) -> tuple[str, ...]:
        """As given, each once; unknown names too, which may be newer (section 5.8.4)."""
        if given is None:
            return ()
        if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
            raise VerificationError("transports: got something else, expected a list of names")
        return tuple(dict.fromkeys(given))

    # ---- the checks of an assertion

    def check_user_handle(self, inner: Mapping[str, Any], key: CredentialRecord) -> None:
        claimed = inner.get("userHandle")
        if claimed is not None and claimed != base64url_encode(key.user_handle):
            raise VerificationError("userHandle: got another user's, expected the owner's or none")

    def check_signature(self, key: CredentialRecord, signature: bytes, signed: bytes) -> None:
        try:
            public_keys.verify(key.public_key, signature, signed)
        except Exception as error:
            raise VerificationError("signature: got one that the stored key does not verify") from (
                error
            )


def _model(attestation: AttestationObject) -> str:
    attested = attestation.auth_data.attested_credential_data
    return "" if attested is None else str(UUID(bytes=attested.aaguid))


def parse_client_data(encoded: bytes) -> Mapping[str, Any]:
    """The client data (section 5.8.1) as an object, `VerificationError` if it is none."""
    try:
        client_data = json.loads(encoded.decode("utf-8"))
    except (ValueError, RecursionError):
        raise VerificationError("clientDataJSON: got no JSON in UTF-8") from None
    if not isinstance(client_data, dict):
        raise VerificationError(f"clientDataJSON: got {kind_of(client_data)}, expected an object")
    return client_data


def _guarded(verification: Callable[[], Result]) -> Result:
    """Whatever a library raises for hostile input means that the input does not verify."""
    try:
        return verification()
    except VerificationError:
        raise
    except Exception as error:
        raise VerificationError("response: got one that cannot be read as WebAuthn") from error


def _decoded(members: Mapping[str, Any], name: str) -> bytes:
    try:
        return base64url_decode(members.get(name))
    except ValueError:
        raise VerificationError(f"{name}: got no base64url, expected it without padding") from None


def _sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def kind_of(value: Any) -> str:
    return "nothing" if value is None else f"a value of type {type(value).__name__}"
