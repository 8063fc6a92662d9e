"""What a signature algorithm is. Knows no algorithm by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from cryptography.hazmat.primitives import serialization

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, mldsa, rsa

    from ..entropy import Entropy

    PrivateKey: TypeAlias = (
        ec.EllipticCurvePrivateKey
        | ed25519.Ed25519PrivateKey
        | ed448.Ed448PrivateKey
        | rsa.RSAPrivateKey
        | mldsa.MLDSA44PrivateKey
        | mldsa.MLDSA65PrivateKey
        | mldsa.MLDSA87PrivateKey
    )
else:
    PrivateKey = Any

Signer: TypeAlias = Callable[[bytes], bytes]


@dataclass(frozen=True, slots=True, eq=False)
class Algorithm:
    """One COSE algorithm. The functions take keys of its own kind only."""

    name: str
    identifier: int
    takes: Callable[[Any], bool]
    """Whether a private key is of the kind that this algorithm signs with."""
    generate: Callable[[Entropy], PrivateKey]
    from_secret: Callable[[bytes], PrivateKey]
    """The key made from a raw secret: the scalar of a curve, the seed of Ed25519 or ML-DSA."""
    sign: Callable[[Any, bool, bytes], bytes]
    """Signs with a key; the flag asks for a deterministic signature, if the algorithm and the
    cryptography library can make one."""
    another_signer: Callable[[Any], Signer]
    """Signs with the same key by another algorithm: the result of mixing up hashes or paddings."""
    public_forms: Callable[[Any], tuple[bytes, bytes]]
    """The public key of a key as DER SubjectPublicKeyInfo (what `getPublicKey()` returns) and as
    COSE_Key (RFC 9052, canonical)."""
    require: Callable[[], None] = lambda: None
    """Raises a ValueError if the installed cryptography library cannot do it."""
    repeats: bool = True
    """Whether the same key and message can be made to give the same signature again."""

    def signer(self, key: PrivateKey, deterministic: bool) -> Signer:
        """`sign` with all but the message given."""
        return partial(self.sign, key, deterministic)

    def __reduce__(self) -> tuple[Any, ...]:
        from . import by_name  # a copy of an algorithm is the algorithm itself

        return by_name, (self.name,)


def public_der(public: Any) -> bytes:
    """DER SubjectPublicKeyInfo."""
    data: bytes = public.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return data
