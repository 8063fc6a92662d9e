"""The signature algorithms: make a key, load it, sign with it, write its COSE form.

ECDSA can use the deterministic nonce of RFC 6979, so that a seed fixes signatures too. Adding an
algorithm means adding one entry to `ALGORITHMS`. Knows nothing of credentials or ceremonies.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, TypeAlias

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed

from . import cbor
from .entropy import Entropy

PrivateKey: TypeAlias = ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey
Signer: TypeAlias = Callable[[bytes], bytes]

_RSA_BITS = 2048
_RSA_EXPONENT = 65537


@dataclass(frozen=True, slots=True, eq=False)
class Algorithm:
    """One COSE algorithm. The functions take keys of its own kind only."""

    name: str
    identifier: int
    generate: Callable[[Entropy], PrivateKey]
    from_secret: Callable[[bytes], PrivateKey]
    """The key made from a raw secret: the scalar of a curve, the seed of Ed25519."""
    sign: Callable[[Any, bool, bytes], bytes]
    """Signs with a key; the flag asks for a deterministic nonce, if the algorithm has one."""
    another_signer: Callable[[Any], Signer]
    """Signs with the same key by another algorithm: the result of mixing up hashes or paddings."""
    public_forms: Callable[[Any], tuple[bytes, bytes]]
    """The public key of a key as DER SubjectPublicKeyInfo (what `getPublicKey()` returns) and as
    COSE_Key (RFC 9052, canonical)."""

    def signer(self, key: PrivateKey, deterministic: bool) -> Signer:
        """`sign` with all but the message given."""
        return partial(self.sign, key, deterministic)


def to_pkcs8(key: PrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.DER,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def from_pkcs8(data: bytes) -> PrivateKey:
    key = serialization.load_der_private_key(data, password=None)
    if isinstance(key, (ec.EllipticCurvePrivateKey, ed25519.Ed25519PrivateKey, rsa.RSAPrivateKey)):
        return key
    raise ValueError(f"got a {type(key).__name__}, expected an EC, Ed25519 or RSA key")


def algorithm_of(key: PrivateKey) -> Algorithm:
    """The algorithm that keys of this kind are used for here."""
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return EDDSA
    if isinstance(key, rsa.RSAPrivateKey):
        return RS256
    for algorithm, curve in ((ES256, "secp256r1"), (ES384, "secp384r1"), (ES512, "secp521r1")):
        if key.curve.name == curve:
            return algorithm
    raise ValueError(f"got a key on {key.curve.name}, expected secp256r1, secp384r1 or secp521r1")


def _elliptic(
    name: str,
    identifier: int,
    cose_curve: int,
    before_point: str,
    curve: ec.EllipticCurve,
    order: int,
    digest: hashes.HashAlgorithm,
    other_digest: hashes.HashAlgorithm,
) -> Algorithm:
    width = (curve.key_size + 7) // 8
    hashed = getattr(hashlib, digest.name)
    methods = ec.ECDSA(Prehashed(digest)), ec.ECDSA(Prehashed(digest), deterministic_signing=True)
    other_method = ec.ECDSA(other_digest, deterministic_signing=True)

    def generate(entropy: Entropy) -> ec.EllipticCurvePrivateKey:
        if not entropy.seeded:
            return ec.generate_private_key(curve)
        return ec.derive_private_key(1 + entropy.below(order - 1), curve)

    def from_secret(secret: bytes) -> ec.EllipticCurvePrivateKey:
        return ec.derive_private_key(int.from_bytes(secret, "big"), curve)

    def sign(key: ec.EllipticCurvePrivateKey, deterministic: bool, message: bytes) -> bytes:
        # Hashed by hashlib: the cryptography library's hash objects take longer.
        return key.sign(hashed(message).digest(), methods[deterministic])

    def another_signer(key: ec.EllipticCurvePrivateKey) -> Signer:
        return lambda message: key.sign(message, other_method)

    # Everything but the coordinates is the same for every key of a curve, in both forms.
    der_head = bytes.fromhex(before_point)
    blank = cbor.encode({1: 2, 3: identifier, -1: cose_curve, -2: bytes(width), -3: b""})
    before_x, before_y = blank[: -2 - width], cbor.encode({-3: bytes(width)})[1:-width]

    encoding = serialization.Encoding.X962
    uncompressed = serialization.PublicFormat.UncompressedPoint

    def public_forms(key: ec.EllipticCurvePrivateKey) -> tuple[bytes, bytes]:
        point = key.public_key().public_bytes(encoding, uncompressed)  # 0x04, x, y
        x, y = point[1 : 1 + width], point[1 + width :]
        return der_head + point, before_x + x + before_y + y

    return Algorithm(name, identifier, generate, from_secret, sign, another_signer, public_forms)


def _eddsa_generate(entropy: Entropy) -> ed25519.Ed25519PrivateKey:
    return ed25519.Ed25519PrivateKey.from_private_bytes(entropy.bytes(32))


def _eddsa_another_signer(key: ed25519.Ed25519PrivateKey) -> Signer:
    def sign(message: bytes) -> bytes:
        digest = hashes.Hash(hashes.SHA512())
        digest.update(message)
        return key.sign(digest.finalize())  # as if Ed25519 took a digest

    return sign


def _eddsa_public_forms(key: ed25519.Ed25519PrivateKey) -> tuple[bytes, bytes]:
    public = key.public_key()
    return _der(public), cbor.encode({1: 1, 3: -8, -1: 6, -2: public.public_bytes_raw()})


def _rsa_generate(entropy: Entropy) -> rsa.RSAPrivateKey:
    if not entropy.seeded:
        return rsa.generate_private_key(_RSA_EXPONENT, _RSA_BITS)
    return rsa_from_primes(_prime(entropy), _prime(entropy))


def rsa_from_primes(p: int, q: int) -> rsa.RSAPrivateKey:
    """The RSA key of two primes, with the usual public exponent."""
    p, q = max(p, q), min(p, q)
    exponent = pow(_RSA_EXPONENT, -1, (p - 1) * (q - 1))
    numbers = rsa.RSAPrivateNumbers(
        p=p,
        q=q,
        d=exponent,
        dmp1=exponent % (p - 1),
        dmq1=exponent % (q - 1),
        iqmp=pow(q, -1, p),
        public_numbers=rsa.RSAPublicNumbers(_RSA_EXPONENT, p * q),
    )
    return numbers.private_key()


def _prime(entropy: Entropy) -> int:
    """A probable prime of half the modulus, with its top bits set so that the product is full."""
    bits = _RSA_BITS // 2
    while True:
        candidate = int.from_bytes(entropy.bytes(bits // 8), "big") | (3 << (bits - 2)) | 1
        if any(candidate % small == 0 for small in _small_primes()):
            continue
        if (candidate - 1) % _RSA_EXPONENT and _is_probable_prime(candidate, entropy):
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


def _rsa_from_secret(_: bytes) -> PrivateKey:
    raise ValueError("an RSA key has no raw secret: give it as PKCS#8, or as a key object")


def _rsa_sign(key: rsa.RSAPrivateKey, _: bool, message: bytes) -> bytes:
    return key.sign(message, padding.PKCS1v15(), hashes.SHA256())


def _rsa_another_signer(key: rsa.RSAPrivateKey) -> Signer:
    return lambda message: key.sign(message, padding.PKCS1v15(), hashes.SHA512())


def _rsa_public_forms(key: rsa.RSAPrivateKey) -> tuple[bytes, bytes]:
    public = key.public_key()
    numbers = public.public_numbers()
    modulus = numbers.n.to_bytes((numbers.n.bit_length() + 7) // 8, "big")
    cose = cbor.encode({1: 3, 3: -257, -1: modulus, -2: numbers.e.to_bytes(3, "big")})
    return _der(public), cose


def _der(public: ed25519.Ed25519PublicKey | rsa.RSAPublicKey) -> bytes:
    return public.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )


# Orders of the groups: SEC 2, version 2.0, sections 2.4.2, 2.5.1 and 2.6.1.
_P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_P384_ORDER = int(
    "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF"
    "C7634D81F4372DDF581A0DB248B0A77AECEC196ACCC52973",
    16,
)
_P521_ORDER = int(
    "01FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFA"
    "51868783BF2F966B7FCC0148F709A5D03BB5C9B8899C47AEBB6FB71E91386409",
    16,
)

# SubjectPublicKeyInfo up to the point: id-ecPublicKey and the curve (RFC 5480, section 2.1).
_P256_HEAD = "3059301306072a8648ce3d020106082a8648ce3d030107034200"
_P384_HEAD = "3076301006072a8648ce3d020106052b81040022036200"
_P521_HEAD = "30819b301006072a8648ce3d020106052b8104002303818600"

ES256 = _elliptic(
    "ES256", -7, 1, _P256_HEAD, ec.SECP256R1(), _P256_ORDER, hashes.SHA256(), hashes.SHA384()
)
ES384 = _elliptic(
    "ES384", -35, 2, _P384_HEAD, ec.SECP384R1(), _P384_ORDER, hashes.SHA384(), hashes.SHA256()
)
ES512 = _elliptic(
    "ES512", -36, 3, _P521_HEAD, ec.SECP521R1(), _P521_ORDER, hashes.SHA512(), hashes.SHA256()
)
EDDSA = Algorithm(
    "EdDSA",
    -8,
    _eddsa_generate,
    ed25519.Ed25519PrivateKey.from_private_bytes,
    lambda key, _, message: key.sign(message),
    _eddsa_another_signer,
    _eddsa_public_forms,
)
RS256 = Algorithm(
    "RS256",
    -257,
    _rsa_generate,
    _rsa_from_secret,
    _rsa_sign,
    _rsa_another_signer,
    _rsa_public_forms,
)

ALGORITHMS: dict[int, Algorithm] = {
    algorithm.identifier: algorithm for algorithm in (ES256, ES384, ES512, EDDSA, RS256)
}
BY_NAME: dict[str, Algorithm] = {algorithm.name: algorithm for algorithm in ALGORITHMS.values()}
