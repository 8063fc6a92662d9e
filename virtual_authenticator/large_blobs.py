"""Large blobs: what a relying party stores with a credential, at most one value for each.

A security key has one array for all of them, in which platforms encrypt each entry under the
credential's own key (largeBlobKey; CTAP 2.1, section 6.10): the client's part of that is done here,
so that both layers see the same blobs. A passkey provider keeps the value with the credential.
Knows neither CTAP's commands nor WebAuthn's options.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from . import cbor
from .core import LARGE_BLOB_CAPACITY, Core
from .credentials import Credential

LARGEST = 1 << 20
"""Nothing that decompresses to more is read."""
_CIPHERTEXT, _NONCE, _ORIGINAL_SIZE = 1, 2, 3
_CHECKSUM_LENGTH = 16


def can_store(core: Core, *, discoverable: bool) -> bool:
    """Whether a new credential can have a large blob."""
    extensions = core.profile.extensions
    if "largeBlob" in extensions:
        return True
    # Section 12.3: largeBlobKey is for discoverable credentials, and came with CTAP 2.1.
    return discoverable and "largeBlobKey" in extensions and core.profile.ctap in ("2.1", "2.3")


def uses_array(core: Core) -> bool:
    """Whether blobs are in the array of a security key."""
    return "largeBlobKey" in core.profile.extensions and "largeBlob" not in core.profile.extensions


def read(core: Core, credential: Credential) -> bytes | None:
    """The credential's blob, if it has one."""
    if credential.large_blob_key is None:
        return credential.large_blob
    for entry in _entries(core.large_blobs):
        found = _opened(entry, credential.large_blob_key)
        if found is not None:
            return found
    return None


def write(core: Core, credential: Credential, data: bytes) -> bool:
    """Store a blob, which replaces the one before; False if it does not fit or cannot be."""
    key = credential.large_blob_key
    if key is None:
        if "largeBlob" not in core.profile.extensions:
            return False
        credential.large_blob = data
        credential.revision += 1  # a synced copy follows
        return True
    # Entries that are not ours are kept, whatever they are.
    others = [entry for entry in _entries(core.large_blobs) if _opened(entry, key) is None]
    serialized = cbor.encode([*others, _sealed(data, key, core.entropy.bytes(12))])
    serialized += sha256(serialized).digest()[:_CHECKSUM_LENGTH]
    if len(serialized) > LARGE_BLOB_CAPACITY:
        return False
    core.large_blobs = serialized
    return True


def take_over(core: Core, credential: Credential) -> None:
    """Move the blob of a credential that comes from elsewhere to where this device keeps blobs."""
    blob = credential.large_blob
    if blob is None or not uses_array(core) or not credential.discoverable:
        return
    with core.lock:
        credential.large_blob, credential.large_blob_key = None, core.entropy.bytes(32)
        if not write(core, credential, blob):
            raise ValueError(f"large blob: got {len(blob)} bytes, which the device has no room for")


def _entries(serialized: bytes) -> Iterator[Any]:
    """The entries of the array; of one that is damaged, none (section 6.10.2)."""
    array, checksum = serialized[:-_CHECKSUM_LENGTH], serialized[-_CHECKSUM_LENGTH:]
    if sha256(array).digest()[:_CHECKSUM_LENGTH] != checksum:
        return
    try:
        entries = cbor.decode(array)
    except cbor.CborError:
        return
    if isinstance(entries, list):
        yield from entries


def _associated(size: int) -> bytes:
    return b"blob" + size.to_bytes(8, "little")


def deflated(data: bytes) -> bytes:
    """As platforms compress blobs: raw DEFLATE, RFC 1951."""
    deflate = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return deflate.compress(data) + deflate.flush()


def inflated(packed: bytes, size: int) -> bytes | None:
    """The blob of that size; None if it is none."""
    try:
        data = zlib.decompressobj(wbits=-zlib.MAX_WBITS).decompress(packed, LARGEST)
    except zlib.error:
        return None
    return data if len(data) == size else None


def _sealed(data: bytes, key: bytes, nonce: bytes) -> dict[int, Any]:
    """Section 6.10.3: compressed, then encrypted."""
    return {
        _CIPHERTEXT: AESGCM(key).encrypt(nonce, deflated(data), _associated(len(data))),
        _NONCE: nonce,
        _ORIGINAL_SIZE: len(data),
    }


def _opened(entry: Any, key: bytes) -> bytes | None:
    """The blob in an entry; None if it belongs to another credential or is no entry."""
    if not isinstance(entry, dict):
        return None
    nonce, ciphertext, size = (entry.get(at) for at in (_NONCE, _CIPHERTEXT, _ORIGINAL_SIZE))
    if not isinstance(nonce, bytes) or not isinstance(ciphertext, bytes) or type(size) is not int:
        return None
    try:
        packed = AESGCM(key).decrypt(nonce, ciphertext, _associated(size))
    except (InvalidTag, ValueError, OverflowError):
        return None
    return inflated(packed, size)
