"""Attestation statements (WebAuthn Level 3, section 8): one function for each format.

A new format is one more function in `FORMATS`; those that few devices have are loaded on first use.
Does not know who asked for attestation, or whether the client passes it on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from .. import cbor
from ..algorithms import Algorithm, PrivateKey

if TYPE_CHECKING:
    from ..certificates import AttestationIdentity
    from ..credentials import Credential

Statement: TypeAlias = Any
"""A map with text keys; of the compound format a list of such maps."""


@dataclass(slots=True, eq=False, repr=False)
class AttestationInput:
    """What a statement is made from. Faults can replace `sign` and `identity`."""

    credential: Credential
    authenticator_data: bytes
    client_data_hash: bytes
    sign: Callable[[Algorithm, PrivateKey, bytes], bytes]
    identity: Callable[[str], AttestationIdentity]
    """What the device attests with in a format."""
    parts: Sequence[str] = ()
    """The formats of a compound statement."""

    @property
    def to_be_signed(self) -> bytes:
        return self.authenticator_data + self.client_data_hash

    def sign_with(self, identity: AttestationIdentity, message: bytes) -> bytes:
        return self.sign(identity.algorithm, identity.key, message)

    def sign_with_credential(self) -> bytes:
        credential = self.credential
        return self.sign(credential.algorithm, credential.key, self.to_be_signed)


def _none(_: AttestationInput) -> tuple[str, Statement]:
    return "none", {}


def _packed_self(given: AttestationInput) -> tuple[str, Statement]:
    algorithm = given.credential.algorithm.identifier
    return "packed", {"alg": algorithm, "sig": given.sign_with_credential()}


def _packed(given: AttestationInput) -> tuple[str, Statement]:
    identity = given.identity("packed")
    signed = given.authenticator_data + given.client_data_hash
    return "packed", {
        "alg": identity.algorithm.identifier,
        "sig": given.sign(identity.algorithm, identity.key, signed),
        "x5c": identity.x5c,
    }


def u2f_point(credential: Credential) -> bytes:
    """The public key in U2F's form: 0x04, x, y."""
    return credential.algorithm.public_forms(credential.key)[0][-65:]


def _fido_u2f(given: AttestationInput) -> tuple[str, Statement]:
    identity = given.identity("fido-u2f")
    message = (
        b"\x00"
        + given.authenticator_data[:32]  # the RP ID hash, possibly with a fault
        + given.client_data_hash
        + given.credential.id
        + u2f_point(given.credential)
    )
    return "fido-u2f", {"sig": given.sign_with(identity, message), "x5c": identity.x5c}


def _tpm(given: AttestationInput) -> tuple[str, Statement]:
    from .tpm import statement

    return "tpm", statement(given)


def _android_key(given: AttestationInput) -> tuple[str, Statement]:
    from .android_key import statement

    return "android-key", statement(given)


def _android_safetynet(given: AttestationInput) -> tuple[str, Statement]:
    from .android_safetynet import statement

    return "android-safetynet", statement(given)


def _apple(given: AttestationInput) -> tuple[str, Statement]:
    from .apple import statement

    return "apple", statement(given)


def _compound(given: AttestationInput) -> tuple[str, Statement]:
    """Section 8.9: several statements about one credential, each of them whole."""
    made = [FORMATS[part](given) for part in given.parts]
    return "compound", [{"fmt": fmt, "attStmt": statement} for fmt, statement in made]


FORMATS: dict[str, Callable[[AttestationInput], tuple[str, Statement]]] = {
    "none": _none,
    "packed-self": _packed_self,
    "packed": _packed,
    "fido-u2f": _fido_u2f,
    "tpm": _tpm,
    "android-key": _android_key,
    "android-safetynet": _android_safetynet,
    "apple": _apple,
    "compound": _compound,
}
CERTIFIED = frozenset(("packed", "fido-u2f", "tpm", "android-key", "android-safetynet", "apple"))
"""Formats that need a key and certificates from the factory."""
TAKES: dict[str, tuple[str, ...]] = {
    "fido-u2f": ("ES256",),
    # What a TPM's public area can describe, and what Android's keystore and Apple's enclave make.
    "tpm": ("ES256", "ES384", "ES512", "RS256"),
    "android-key": ("ES256", "ES384", "ES512", "RS256"),
    "android-safetynet": ("ES256",),
    "apple": ("ES256",),
}
"""By format, the algorithms of the credentials it is for; formats that are absent take any."""


def attestation_object(fmt: str, statement: Statement, authenticator_data: bytes) -> bytes:
    """The canonical CBOR map of section 6.5.4."""
    head, members, data_key = _template(fmt, tuple(statement) if type(statement) is dict else None)
    if members is None:
        parts = [head, cbor.encode(statement)]
    else:
        parts = [head]
        for name, encoded_name in members:
            parts.append(encoded_name)
            parts.append(cbor.encode(statement[name]))
    parts.append(data_key)
    parts.append(cbor.encode(authenticator_data))
    return b"".join(parts)


@lru_cache(maxsize=64)
def _template(
    fmt: str, names: tuple[str, ...] | None
) -> tuple[bytes, list[tuple[str, bytes]] | None, bytes]:
    """What is the same in all attestation objects of a format whose statement has these members:
    the beginning, the members' names in canonical order, and what stands before the data. A
    statement without names is not taken apart."""
    head = b"\xa3" + cbor.encode("fmt") + cbor.encode(fmt) + cbor.encode("attStmt")
    data_key = cbor.encode("authData")
    if names is None:
        return head, None, data_key
    ordered = cbor.decode(cbor.encode(dict.fromkeys(names)))
    head += cbor.encode_pairs([(b"", b"")] * len(ordered))
    return head, [(name, cbor.encode(name)) for name in ordered], data_key
