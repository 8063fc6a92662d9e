"""Whether a credential's public key is a key at all, and whether it made a signature.

Loading does not check every kind: it accepts any Ed25519 point. Knows no ceremony.
"""

from __future__ import annotations

from typing import Any

from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDSA,
    SECP256R1,
    SECP384R1,
    EllipticCurvePublicKey,
)
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA384
from webauthn.helpers import (
    decode_credential_public_key,
    decoded_public_key_to_cryptography,
    verify_signature,
)
from webauthn.helpers.decode_credential_public_key import (
    DecodedEC2PublicKey,
    DecodedOKPPublicKey,
    DecodedRSAPublicKey,
)

ES256, EDDSA, ES384, RS256 = -7, -8, -35, -257
ALGORITHMS = (ES256, EDDSA, ES384, RS256)
"""Offered at registration, in order of preference."""

_P = 2**255 - 19
_D = -121665 * pow(121666, -1, _P) % _P
_EULER = (_P - 1) // 2


def algorithm_of(cose_key: bytes) -> int:
    """The COSE algorithm that a key names."""
    return int(decode_credential_public_key(cose_key).alg)


def verify(cose_key: bytes, signature: bytes, signed: bytes) -> None:
    """Raises something unless the key made this signature."""
    key, algorithm = load(cose_key), algorithm_of(cose_key)
    if algorithm == ES384:  # which py_webauthn does not verify
        key.verify(signature, signed, ECDSA(SHA384()))
    else:
        verify_signature(public_key=key, signature_alg=algorithm, signature=signature, data=signed)  # type: ignore[arg-type]


def load(cose_key: bytes) -> Any:
    """The key; ValueError if it is not a key."""
    decoded = decode_credential_public_key(cose_key)
    key = decoded_public_key_to_cryptography(decoded)
    match decoded, key:
        # Loading has checked that a point is on its curve.
        case DecodedEC2PublicKey(alg=-7), EllipticCurvePublicKey(curve=SECP256R1()):
            _check_length(decoded, 32)
        case DecodedEC2PublicKey(alg=-35), EllipticCurvePublicKey(curve=SECP384R1()):
            _check_length(decoded, 48)
        case DecodedOKPPublicKey(alg=-8), _:
            _check_edwards_point(decoded.x)
        case DecodedRSAPublicKey(alg=-257), RSAPublicKey(key_size=bits):
            if bits < 2048 or not decoded.n[-1] & 1:
                raise ValueError(
                    f"RSA modulus: got {bits} bits, expected an odd one of 2048 or more"
                )
        case _:
            raise ValueError(f"key: got algorithm {decoded.alg} with another type of key or curve")
    return key


def _check_length(key: DecodedEC2PublicKey, expected: int) -> None:
    for name, coordinate in (("x", key.x), ("y", key.y)):
        if len(coordinate) != expected:
            raise ValueError(f"{name}: got {len(coordinate)} bytes, expected {expected}")


def _check_edwards_point(encoded: bytes) -> None:
    """RFC 8032, section 5.1.3: there must be an x to this y."""
    y = int.from_bytes(encoded, "little") & (2**255 - 1)
    if y >= _P:
        raise ValueError("Ed25519 point: got y beyond the field, expected a reduced one")
    x_squared = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    # Euler's criterion: a square, or zero.
    if pow(x_squared, _EULER, _P) not in (0, 1):
        raise ValueError("Ed25519 point: got a y without an x, expected a point of the curve")
