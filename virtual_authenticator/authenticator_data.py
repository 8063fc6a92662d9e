"""The byte layout of authenticator data (WebAuthn Level 3, section 6.1). Knows no key and no RP."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag
from struct import Struct


class Flags(IntFlag):
    """The flags byte; bits 1 and 5 are reserved."""

    UP = 0x01
    RESERVED_1 = 0x02
    UV = 0x04
    BE = 0x08
    BS = 0x10
    RESERVED_5 = 0x20
    AT = 0x40
    ED = 0x80


# Plain integers: arithmetic on IntFlag costs more than the rest of the layout.
UP, UV, BE, BS, AT, ED = 0x01, 0x04, 0x08, 0x10, 0x40, 0x80


fixed_part = Struct(">32sBI").pack
"""RP ID hash, flags and counter: what authenticator data begins with, and often all of it."""
attested_part = Struct(">32sBI16sH").pack
"""The same with AAGUID and length of the credential id, which the id and the key follow."""


def attested_credential_data(aaguid: bytes, credential_id: bytes, public_key: bytes) -> bytes:
    return aaguid + len(credential_id).to_bytes(2, "big") + credential_id + public_key


@dataclass(slots=True, eq=False, repr=False)
class AuthenticatorDataDraft:
    """Authenticator data before it is bytes, so that faults can change a part of it."""

    rp_id_hash: bytes
    flags: int
    sign_count: int
    aaguid: bytes = b""
    credential_id: bytes = b""
    public_key: bytes = b""
    extensions: bytes = b""

    def encode(self) -> bytes:
        attested = b""
        if self.flags & AT:
            attested = attested_credential_data(self.aaguid, self.credential_id, self.public_key)
        return (
            self.rp_id_hash  # a fault may have given it any length
            + bytes((self.flags,))
            + self.sign_count.to_bytes(4, "big")
            + attested
            + self.extensions
        )
