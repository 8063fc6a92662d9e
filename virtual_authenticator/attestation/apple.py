"""The apple format (WebAuthn Level 3, section 8.8): an anonymous certificate for the credential's
own key, with a digest of this very registration in an extension, and no signature beside it."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

from .. import der

if TYPE_CHECKING:
    from . import AttestationInput

NONCE = "1.2.840.113635.100.8.2"


def statement(given: AttestationInput) -> dict[str, Any]:
    identity = given.identity("apple")
    nonce = sha256(given.to_be_signed).digest()
    leaf = identity.issue(
        given.credential.key.public_key(),
        NONCE,
        der.sequence(der.explicit(1, der.octet_string(nonce))),
    )
    return {"x5c": [leaf, *identity.certificates]}
