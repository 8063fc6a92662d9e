"""The healthy reference with more on offer than its demonstration has.

Its demonstration leaves out what section 8.3.3 of SEP-2672 warns of, and an algorithm that
py_webauthn does not verify. Scenarios about these need a server that has them. Broken servers are
not here: tests/mutants has them.
"""

from __future__ import annotations

from typing import Any

from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP384R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.hashes import SHA384
from webauthn.helpers import decode_credential_public_key, decoded_public_key_to_cryptography

from pytest_mcp_approval.reference_server.assembly import build
from pytest_mcp_approval.reference_server.sep2672.extension import Sep2672Extension
from pytest_mcp_approval.reference_server.sep2672.public_keys import ALGORITHMS, algorithm_of
from pytest_mcp_approval.reference_server.sep2672.records import CredentialRecord
from pytest_mcp_approval.reference_server.sep2672.relying_party import (
    RelyingParty,
    VerificationError,
)
from pytest_mcp_approval.reference_server.server.mcp_server import ReferenceServer
from pytest_mcp_approval.target.reference import ReferenceTarget

ES384 = -35


class WithEs384(RelyingParty):
    """Takes keys on P-384 as well."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **{"algorithms": (*ALGORITHMS, ES384), **named})

    def check_public_key(self, public_key: bytes) -> None:
        if algorithm_of(public_key) == ES384:
            _on_p384(public_key)
        else:
            super().check_public_key(public_key)

    def check_signature(self, key: CredentialRecord, signature: bytes, signed: bytes) -> None:
        if algorithm_of(key.public_key) != ES384:
            super().check_signature(key, signature, signed)
            return
        try:
            _on_p384(key.public_key).verify(signature, signed, ECDSA(SHA384()))
        except Exception as error:
            raise VerificationError("signature: got one that the key does not verify") from error


def _on_p384(cose_key: bytes) -> EllipticCurvePublicKey:
    key = decoded_public_key_to_cryptography(decode_credential_public_key(cose_key))
    if not isinstance(key, EllipticCurvePublicKey) or not isinstance(key.curve, SECP384R1):
        raise VerificationError("public key: got another curve, expected P-384")
    return key


class Richer(Sep2672Extension):
    relying_party_class = WithEs384


def richer_reference(**options: Any) -> ReferenceServer:
    """With a gated tool that has a boolean with a default, and with ES384."""
    settings = options.get("settings", {})
    own = {**settings.get("sep2672", {}), "schema_default": True}
    return build(
        **{
            **options,
            "extensions": {**options.get("extensions", {}), "sep2672": Richer},
            "settings": {**settings, "sep2672": own},
        }
    )


richer_reference.mcp_approval_target = ReferenceTarget  # type: ignore[attr-defined]
