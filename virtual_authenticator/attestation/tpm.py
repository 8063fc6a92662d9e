"""The tpm format (WebAuthn Level 3, section 8.3): what a TPM 2.0 certifies about a key it made.

Structures are those of the TPM 2.0 Library, Part 2: the public area of the credential's key
(TPMT_PUBLIC) and the chip's statement about it (TPMS_ATTEST), which the attestation key signs.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

from .. import cbor
from ..hardware import TpmChip

if TYPE_CHECKING:
    from ..credentials import Credential
    from . import AttestationInput

_GENERATED = b"\xffTCG"
_ATTEST_CERTIFY = bytes.fromhex("8017")
_RSA, _ECC, _SHA256, _NULL = (bytes.fromhex(each) for each in ("0001", "0023", "000b", "0010"))
_CURVES = {1: bytes.fromhex("0003"), 2: bytes.fromhex("0004"), 3: bytes.fromhex("0005")}
"""By COSE's number, TPM_ECC_CURVE of P-256, P-384 and P-521 (Part 2, section 6.4)."""
_DEFAULT_EXPONENT = bytes(4)
"""Zero means 65537 (Part 2, section 12.2.3.5)."""


def statement(given: AttestationInput) -> dict[str, Any]:
    identity = given.identity("tpm")
    chip = identity.hardware
    assert isinstance(chip, TpmChip)
    area = public_area(given.credential, chip)
    # extraData is the digest by the attestation key's hash: SHA-256 in both algorithms it may have.
    information = certify_information(chip, sha256(given.to_be_signed).digest(), area)
    return {
        "ver": "2.0",
        "alg": identity.algorithm.identifier,
        "x5c": identity.x5c,
        "sig": given.sign_with(identity, information),
        "certInfo": information,
        "pubArea": area,
    }


def public_area(credential: Credential, chip: TpmChip) -> bytes:
    """TPMT_PUBLIC of the credential's key, with an empty policy (Part 2, section 12.2.4)."""
    key = cbor.decode(credential.public_key_bytes())
    if key[1] == 3:
        kind, bits = _RSA, 8 * len(key[-1])
        parameters = _NULL + _NULL + bits.to_bytes(2, "big") + _DEFAULT_EXPONENT
        unique = sized(key[-1])
    else:
        kind = _ECC
        parameters = _NULL + _NULL + _CURVES[key[-1]] + _NULL
        unique = sized(key[-2]) + sized(key[-3])
    attributes = chip.attributes.to_bytes(4, "big")
    return kind + _SHA256 + attributes + sized(b"") + parameters + unique


def certify_information(chip: TpmChip, extra_data: bytes, area: bytes) -> bytes:
    """TPMS_ATTEST of TPM2_Certify (Part 2, section 10.12.8); names as in Part 1, section 16."""
    name = _SHA256 + sha256(area).digest()
    return (
        _GENERATED
        + _ATTEST_CERTIFY
        + sized(b"")  # qualifiedSigner
        + sized(extra_data)
        + chip.clock
        + chip.firmware
        + sized(name)
        + sized(b"")  # qualifiedName
    )


def sized(data: bytes) -> bytes:
    """A TPM2B structure: two bytes of length, then the bytes."""
    return len(data).to_bytes(2, "big") + data
