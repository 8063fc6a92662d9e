"""The signature algorithms: make a key, load it, sign with it, write its COSE form.

Adding an algorithm means adding one entry to `ALGORITHMS`. Knows nothing of credentials or
ceremonies.
"""

from __future__ import annotations

from typing import Any, cast

from cryptography.hazmat.primitives import serialization

from .base import Algorithm, PrivateKey, Signer
from .ecdsa import ES256, ES256K, ES384, ES512, ESP256, ESP384, ESP512
from .eddsa import ED448, ED25519, EDDSA
from .ml_dsa import ML_DSA_44, ML_DSA_65, ML_DSA_87
from .rsa import PS256, PS384, PS512, RS1, RS256, RS384, RS512, rsa_from_primes

__all__ = [
    "ALGORITHMS",
    "BY_NAME",
    "ED448",
    "ED25519",
    "EDDSA",
    "ES256",
    "ES256K",
    "ES384",
    "ES512",
    "ESP256",
    "ESP384",
    "ESP512",
    "ML_DSA_44",
    "ML_DSA_65",
    "ML_DSA_87",
    "PS256",
    "PS384",
    "PS512",
    "RS1",
    "RS256",
    "RS384",
    "RS512",
    "Algorithm",
    "PrivateKey",
    "Signer",
    "algorithm_of",
    "by_name",
    "from_pkcs8",
    "rsa_from_primes",
    "to_pkcs8",
]

ALGORITHMS: dict[int, Algorithm] = {
    algorithm.identifier: algorithm
    for algorithm in (
        ES256,
        ES384,
        ES512,
        EDDSA,
        RS256,
        ES256K,
        PS256,
        ED448,
        ML_DSA_44,
        ML_DSA_65,
        ML_DSA_87,
        # For relying parties that name them. A key alone is never taken for one of these: those
        # above come first.
        ESP256,
        ESP384,
        ESP512,
        ED25519,
        RS384,
        RS512,
        PS384,
        PS512,
        RS1,
    )
}
BY_NAME: dict[str, Algorithm] = {algorithm.name: algorithm for algorithm in ALGORITHMS.values()}


def by_name(name: str) -> Algorithm:
    """The algorithm of that name; ValueError if there is none."""
    if name not in BY_NAME:
        raise ValueError(f"algorithm: got {name!r}, expected one of {', '.join(BY_NAME)}")
    return BY_NAME[name]


def algorithm_of(key: PrivateKey) -> Algorithm:
    """The algorithm that keys of this kind are used for here: RS256 for any RSA key."""
    for algorithm in ALGORITHMS.values():
        if algorithm.takes(key):
            return algorithm
    curve: Any = getattr(key, "curve", None)
    kind = f"key on {curve.name}" if curve is not None else type(key).__name__
    raise ValueError(f"got a {kind}, expected a key for one of {', '.join(BY_NAME)}")


def to_pkcs8(key: PrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.DER,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def from_pkcs8(data: bytes) -> PrivateKey:
    """A private key that one of the algorithms takes; ValueError for any other."""
    key = cast(PrivateKey, serialization.load_der_private_key(data, password=None))
    algorithm_of(key)
    return key
