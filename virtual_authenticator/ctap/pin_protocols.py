"""PIN/UV auth protocols one and two, the authenticator's side (CTAP 2.1, sections 6.5.6 and 6.5.7).

Key agreement, encryption and authentication, no more. Knows nothing of PINs, retries or tokens.
"""

from __future__ import annotations

import hmac
from abc import ABC, abstractmethod
from hashlib import sha256
from typing import Any, ClassVar

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from ..algorithms import ES256
from ..entropy import Entropy

_BLOCK = 16
_ECDH_ES_HKDF_256 = -25
"""What the COSE key says; section 6.5.6 notes that it is not the algorithm really used."""


class PinProtocol(ABC):
    """One protocol and its key agreement key. Malformed input is a ValueError."""

    version: ClassVar[int]

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy
        self._key: ec.EllipticCurvePrivateKey | None = None

    def regenerate(self) -> None:
        """Forget the key agreement key; a new one is made when it is needed."""
        self._key = None

    @property
    def _private_key(self) -> ec.EllipticCurvePrivateKey:
        if self._key is None:
            key = ES256.generate(self._entropy)
            assert isinstance(key, ec.EllipticCurvePrivateKey)
            self._key = key
        return self._key

    def public_key(self) -> dict[int, Any]:
        """The public half of the key agreement key, as a COSE key."""
        numbers = self._private_key.public_key().public_numbers()
        x, y = numbers.x.to_bytes(32, "big"), numbers.y.to_bytes(32, "big")
        return {1: 2, 3: _ECDH_ES_HKDF_256, -1: 1, -2: x, -3: y}

    def decapsulate(self, peer: dict[Any, Any]) -> bytes:
        """The shared secret with a platform that sent this COSE key."""
        x, y = peer.get(-2), peer.get(-3)
        wanted = {1: 2, 3: _ECDH_ES_HKDF_256, -1: 1}
        if any(type(peer.get(key)) is not int or peer[key] != wanted[key] for key in wanted):
            raise ValueError("got another kind of key, expected EC2 on P-256 for key agreement")
        if type(x) is not bytes or type(y) is not bytes or len(x) != 32 or len(y) != 32:
            raise ValueError("got no coordinates of 32 bytes")
        numbers = ec.EllipticCurvePublicNumbers(
            int.from_bytes(x, "big"), int.from_bytes(y, "big"), ec.SECP256R1()
        )
        # `public_key` refuses a point that is off the curve.
        return self._derive(self._private_key.exchange(ec.ECDH(), numbers.public_key()))

    @abstractmethod
    def _derive(self, shared_x: bytes) -> bytes:
        """The shared secret from the shared point's x."""

    @abstractmethod
    def encrypt(self, secret: bytes, plaintext: bytes) -> bytes: ...

    @abstractmethod
    def decrypt(self, secret: bytes, ciphertext: bytes) -> bytes: ...

    @abstractmethod
    def verify(self, key: bytes, message: bytes, signature: bytes) -> bool:
        """Whether the signature is the one that this key (a secret or a token) makes."""


class PinProtocolOne(PinProtocol):
    """SHA-256 of the shared point, an IV of zeros, signatures cut to 16 bytes."""

    version = 1

    def _derive(self, shared_x: bytes) -> bytes:
        return sha256(shared_x).digest()

    def encrypt(self, secret: bytes, plaintext: bytes) -> bytes:
        return encrypt_cbc(secret, bytes(_BLOCK), plaintext)

    def decrypt(self, secret: bytes, ciphertext: bytes) -> bytes:
        return _decrypt(secret, bytes(_BLOCK), ciphertext)

    def verify(self, key: bytes, message: bytes, signature: bytes) -> bool:
        return hmac.compare_digest(hmac.digest(key, message, "sha256")[:16], signature)


class PinProtocolTwo(PinProtocol):
    """Two keys by HKDF, a random IV, whole signatures."""

    version = 2

    def _derive(self, shared_x: bytes) -> bytes:
        return hkdf(shared_x, b"CTAP2 HMAC key") + hkdf(shared_x, b"CTAP2 AES key")

    def encrypt(self, secret: bytes, plaintext: bytes) -> bytes:
        start = self._entropy.bytes(_BLOCK)
        return start + encrypt_cbc(secret[32:], start, plaintext)

    def decrypt(self, secret: bytes, ciphertext: bytes) -> bytes:
        if len(ciphertext) < _BLOCK:
            raise ValueError(f"got {len(ciphertext)} bytes, expected an IV of 16 at least")
        return _decrypt(secret[32:], ciphertext[:_BLOCK], ciphertext[_BLOCK:])

    def verify(self, key: bytes, message: bytes, signature: bytes) -> bool:
        return hmac.compare_digest(hmac.digest(key[:32], message, "sha256"), signature)


PROTOCOLS: dict[int, type[PinProtocol]] = {
    protocol.version: protocol for protocol in (PinProtocolOne, PinProtocolTwo)
}


def hkdf(secret: bytes, purpose: bytes) -> bytes:
    """HKDF-SHA-256 (RFC 5869) with a salt of 32 zeros; one block is all that is needed."""
    return hmac.digest(hmac.digest(bytes(32), secret, "sha256"), purpose + b"\x01", "sha256")


def encrypt_cbc(key: bytes, start: bytes, plaintext: bytes) -> bytes:
    encryptor = Cipher(algorithms.AES(key), modes.CBC(start)).encryptor()
    return encryptor.update(plaintext) + encryptor.finalize()


def _decrypt(key: bytes, start: bytes, ciphertext: bytes) -> bytes:
    if len(ciphertext) % _BLOCK:
        raise ValueError(f"got {len(ciphertext)} bytes, expected whole blocks of {_BLOCK}")
    decryptor = Cipher(algorithms.AES256(key), modes.CBC(start)).decryptor()
    return decryptor.update(ciphertext) + decryptor.finalize()
