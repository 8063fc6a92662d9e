"""Attestation statements (WebAuthn Level 3, section 8): one function for each format.

A new format (tpm, android-key, apple) is one more function in `FORMATS`. Does not know who asked
for attestation, or whether the client passes it on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import cbor
from .algorithms import ES256, PrivateKey

if TYPE_CHECKING:
    from .certificates import AttestationIdentity
    from .credentials import Credential

Statement = dict[str, Any]


@dataclass(slots=True, eq=False, repr=False)
class AttestationInput:
    """What a statement is made from. Faults can replace `sign` and `identity`."""

    credential: Credential
    authenticator_data: bytes
    client_data_hash: bytes
    sign: Callable[[PrivateKey, bytes], bytes]
    identity: Callable[[], AttestationIdentity]


def _none(_: AttestationInput) -> tuple[str, Statement]:
    return "none", {}


def _packed_self(given: AttestationInput) -> tuple[str, Statement]:
    signature = given.sign(given.credential.key, given.authenticator_data + given.client_data_hash)
    return "packed", {"alg": given.credential.algorithm.identifier, "sig": signature}


def _packed(given: AttestationInput) -> tuple[str, Statement]:
    identity = given.identity()
    signature = given.sign(identity.key, given.authenticator_data + given.client_data_hash)
    return "packed", {
        "alg": ES256.identifier,
        "sig": signature,
        "x5c": list(identity.certificates),
    }


def u2f_point(credential: Credential) -> bytes:
    """The public key in U2F's form: 0x04, x, y."""
    return credential.algorithm.public_forms(credential.key)[0][-65:]


def _fido_u2f(given: AttestationInput) -> tuple[str, Statement]:
    identity = given.identity()
    message = (
        b"\x00"
        + given.authenticator_data[:32]  # the RP ID hash, possibly with a fault
        + given.client_data_hash
        + given.credential.id
        + u2f_point(given.credential)
    )
    return "fido-u2f", {
        "sig": given.sign(identity.key, message),
        "x5c": list(identity.certificates),
    }


FORMATS: dict[str, Callable[[AttestationInput], tuple[str, Statement]]] = {
    "none": _none,
    "packed-self": _packed_self,
    "packed": _packed,
    "fido-u2f": _fido_u2f,
}


def attestation_object(fmt: str, statement: Statement, authenticator_data: bytes) -> bytes:
    """The canonical CBOR map of section 6.5.4."""
    return cbor.encode({"fmt": fmt, "attStmt": statement, "authData": authenticator_data})
