"""RSA: RS256 and its relatives (RFC 8812), PS256 and its relatives (RFC 8230), with the primes from
a seed if there is one.

All take the same kind of key: which of them a key is for must be said elsewhere.
"""

from __future__ import annotations

from functools import cache

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from .. import cbor
from ..entropy import Entropy
from .base import Algorithm, PrivateKey, Signer, public_der

_BITS = 2048
_EXPONENT = 65537
_PKCS1 = padding.PKCS1v15()


def _takes(key: PrivateKey) -> bool:
    return isinstance(key, rsa.RSAPrivateKey)


def _generate(entropy: Entropy) -> rsa.RSAPrivateKey:
    if not entropy.seeded:
        return rsa.generate_private_key(_EXPONENT, _BITS)
    return rsa_from_primes(_prime(entropy), _prime(entropy))


def rsa_from_primes(p: int, q: int) -> rsa.RSAPrivateKey:
    """The RSA key of two primes, with the usual public exponent."""
    p, q = max(p, q), min(p, q)
    exponent = pow(_EXPONENT, -1, (p - 1) * (q - 1))
    numbers = rsa.RSAPrivateNumbers(
        p=p,
        q=q,
        d=exponent,
        dmp1=exponent % (p - 1),
        dmq1=exponent % (q - 1),
        iqmp=pow(q, -1, p),
        public_numbers=rsa.RSAPublicNumbers(_EXPONENT, p * q),
    )
    return numbers.private_key()


def _prime(entropy: Entropy) -> int:
    """A probable prime of half the modulus, with its top bits set so that the product is full."""
    bits = _BITS // 2
    while True:
        candidate = int.from_bytes(entropy.bytes(bits // 8), "big") | (3 << (bits - 2)) | 1
        if any(candidate % small == 0 for small in _small_primes()):
            continue
        if (candidate - 1) % _EXPONENT and _is_probable_prime(candidate, entropy):
            return candidate


@cache
def _small_primes() -> list[int]:
    return [p for p in range(3, 2000, 2) if all(p % d for d in range(3, int(p**0.5) + 1, 2))]


def _is_probable_prime(candidate: int, entropy: Entropy) -> bool:
    """Miller-Rabin; five random bases suffice for random candidates of this size."""
    shift = ((candidate - 1) & -(candidate - 1)).bit_length() - 1
    for _ in range(5):
        value = pow(2 + entropy.below(candidate - 3), (candidate - 1) >> shift, candidate)
        if value in (1, candidate - 1):
            continue
        for _ in range(shift - 1):
            value = value * value % candidate
            if value == candidate - 1:
                break
        else:
            return False
    return True


def _from_secret(_: bytes) -> PrivateKey:
    raise ValueError("an RSA key has no raw secret: give it as PKCS#8, or as a key object")


def _rsa(name: str, identifier: int, digest: hashes.HashAlgorithm) -> Algorithm:
    repeats = name.startswith("R")
    pads: padding.AsymmetricPadding = _PKCS1
    if not repeats:  # RFC 8230, section 2: the salt, which is random, is as long as the digest
        pads = padding.PSS(padding.MGF1(digest), padding.PSS.DIGEST_LENGTH)
    other = hashes.SHA256() if digest.name == "sha512" else hashes.SHA512()

    def sign(key: rsa.RSAPrivateKey, _: bool, message: bytes) -> bytes:
        return key.sign(message, pads, digest)

    def another_signer(key: rsa.RSAPrivateKey) -> Signer:
        if repeats:
            return lambda message: key.sign(message, pads, other)
        return lambda message: key.sign(message, _PKCS1, digest)  # as RS256 and its relatives

    def public_forms(key: rsa.RSAPrivateKey) -> tuple[bytes, bytes]:
        public = key.public_key()
        numbers = public.public_numbers()
        modulus = numbers.n.to_bytes((numbers.n.bit_length() + 7) // 8, "big")
        cose = {1: 3, 3: identifier, -1: modulus, -2: numbers.e.to_bytes(3, "big")}
        return public_der(public), cbor.encode(cose)

    return Algorithm(
        name,
        identifier,
        _takes,
        _generate,
        _from_secret,
        sign,
        another_signer,
        public_forms,
        repeats=repeats,
    )


RS256 = _rsa("RS256", -257, hashes.SHA256())
RS384 = _rsa("RS384", -258, hashes.SHA384())
RS512 = _rsa("RS512", -259, hashes.SHA512())
RS1 = _rsa("RS1", -65535, hashes.SHA1())
PS256 = _rsa("PS256", -37, hashes.SHA256())
PS384 = _rsa("PS384", -38, hashes.SHA384())
PS512 = _rsa("PS512", -39, hashes.SHA512())
