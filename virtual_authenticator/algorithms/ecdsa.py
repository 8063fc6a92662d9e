"""ECDSA on the NIST curves and on secp256k1: ES256, ES384, ES512 (RFC 9053), ES256K (RFC 8812), and
the same with the curve in the name (RFC 9864).

A seed fixes signatures too: they can use the deterministic nonce of RFC 6979.
"""

from __future__ import annotations

import hashlib

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed

from .. import cbor
from ..entropy import Entropy
from .base import Algorithm, PrivateKey, Signer


def _ecdsa(
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

    def takes(key: PrivateKey) -> bool:
        return isinstance(key, ec.EllipticCurvePrivateKey) and key.curve.name == curve.name

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

    return Algorithm(
        name, identifier, takes, generate, from_secret, sign, another_signer, public_forms
    )


# Orders of the groups: SEC 2, version 2.0, sections 2.4.1, 2.4.2, 2.5.1 and 2.6.1.
_K256_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
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
_K256_HEAD = "3056301006072a8648ce3d020106052b8104000a034200"
_P256_HEAD = "3059301306072a8648ce3d020106082a8648ce3d030107034200"
_P384_HEAD = "3076301006072a8648ce3d020106052b81040022036200"
_P521_HEAD = "30819b301006072a8648ce3d020106052b8104002303818600"

_ON_K256 = _K256_HEAD, ec.SECP256K1(), _K256_ORDER, hashes.SHA256(), hashes.SHA384()
_ON_P256 = _P256_HEAD, ec.SECP256R1(), _P256_ORDER, hashes.SHA256(), hashes.SHA384()
_ON_P384 = _P384_HEAD, ec.SECP384R1(), _P384_ORDER, hashes.SHA384(), hashes.SHA256()
_ON_P521 = _P521_HEAD, ec.SECP521R1(), _P521_ORDER, hashes.SHA512(), hashes.SHA256()

ES256 = _ecdsa("ES256", -7, 1, *_ON_P256)
ES384 = _ecdsa("ES384", -35, 2, *_ON_P384)
ES512 = _ecdsa("ES512", -36, 3, *_ON_P521)
ES256K = _ecdsa("ES256K", -47, 8, *_ON_K256)
# The same under names that say the curve too (RFC 9864).
ESP256 = _ecdsa("ESP256", -9, 1, *_ON_P256)
ESP384 = _ecdsa("ESP384", -51, 2, *_ON_P384)
ESP512 = _ecdsa("ESP512", -52, 3, *_ON_P521)
