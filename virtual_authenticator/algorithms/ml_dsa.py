"""ML-DSA-44, -65 and -87 (FIPS 204; for COSE draft-ietf-cose-dilithium: key type AKP).

The cryptography library has them if its OpenSSL does, and signs with fresh randomness only
("hedged", FIPS 204 section 3.4): a seed fixes keys, not signatures. Loaded on first use.
"""

from __future__ import annotations

from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm

from .. import cbor
from ..entropy import Entropy
from .base import Algorithm, Signer, public_der

_AKP = 7
"""COSE key type: algorithm key pair."""
_SEED_LENGTH = 32


def _ml_dsa(name: str, identifier: int) -> Algorithm:
    class_name = f"{name.replace('-', '')}PrivateKey"

    def kind() -> Any:
        try:
            from cryptography.hazmat.primitives.asymmetric import mldsa
        except ImportError:
            raise ValueError(f"{name}: expected a newer cryptography library") from None
        return getattr(mldsa, class_name)

    def require() -> None:
        try:
            from_secret(bytes(_SEED_LENGTH))
        except UnsupportedAlgorithm:
            raise ValueError(f"{name}: the OpenSSL of the cryptography library lacks it") from None

    def takes(key: object) -> bool:
        # By name, so that no other key loads the module.
        return type(key).__name__ == class_name

    def from_secret(secret: bytes) -> Any:
        return kind().from_seed_bytes(secret)

    def generate(entropy: Entropy) -> Any:
        return from_secret(entropy.bytes(_SEED_LENGTH))

    def another_signer(key: Any) -> Signer:
        # FIPS 204, section 5.2: another context string gives a signature that fits no other.
        return lambda message: key.sign(message, context=b"another context")

    def public_forms(key: Any) -> tuple[bytes, bytes]:
        public = key.public_key()
        cose = {1: _AKP, 3: identifier, -1: public.public_bytes_raw()}
        return public_der(public), cbor.encode(cose)

    return Algorithm(
        name,
        identifier,
        takes,
        generate,
        from_secret,
        lambda key, _, message: key.sign(message),
        another_signer,
        public_forms,
        require=require,
        repeats=False,
    )


ML_DSA_44 = _ml_dsa("ML-DSA-44", -48)
ML_DSA_65 = _ml_dsa("ML-DSA-65", -49)
ML_DSA_87 = _ml_dsa("ML-DSA-87", -50)
