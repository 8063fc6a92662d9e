"""EdDSA: Ed25519 under its old name, as WebAuthn writes it, and both under their own (RFC 9864).

-8 is named EdDSA; WebAuthn Level 3 (section 5.8.5) has it mean Ed25519 alone.
"""

from __future__ import annotations

from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ed448, ed25519

from .. import cbor
from ..entropy import Entropy
from .base import Algorithm, Signer, public_der


def _eddsa(name: str, identifier: int, cose_curve: int, kind: Any, width: int) -> Algorithm:
    def generate(entropy: Entropy) -> Any:
        return kind.from_private_bytes(entropy.bytes(width))

    def another_signer(key: Any) -> Signer:
        def sign(message: bytes) -> bytes:
            digest = hashes.Hash(hashes.SHA512())
            digest.update(message)
            return key.sign(digest.finalize())  # type: ignore[no-any-return]  # as if of a digest

        return sign

    def public_forms(key: Any) -> tuple[bytes, bytes]:
        public = key.public_key()
        point = public.public_bytes_raw()
        return public_der(public), cbor.encode({1: 1, 3: identifier, -1: cose_curve, -2: point})

    return Algorithm(
        name,
        identifier,
        lambda key: isinstance(key, kind),
        generate,
        kind.from_private_bytes,
        lambda key, _, message: key.sign(message),
        another_signer,
        public_forms,
    )


EDDSA = _eddsa("EdDSA", -8, 6, ed25519.Ed25519PrivateKey, 32)
ED25519 = _eddsa("Ed25519", -19, 6, ed25519.Ed25519PrivateKey, 32)
ED448 = _eddsa("Ed448", -53, 7, ed448.Ed448PrivateKey, 57)
