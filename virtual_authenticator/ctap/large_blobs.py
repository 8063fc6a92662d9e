"""LargeBlobs (CTAP 2.3, section 6.10.2): one array of bytes that platforms read and write in
fragments.

What is in it, and that it is encrypted with each credential's largeBlobKey, only platforms know.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from ..core import LARGE_BLOB_CAPACITY
from .authorisation import check_permission, pin_uv_auth
from .features import MAXIMUM_MESSAGE
from .interaction import Interaction
from .parameters import Parameters
from .session import BlobWrite, Session
from .status import CtapFailure, Status
from .token import Permission

MAXIMUM_FRAGMENT = MAXIMUM_MESSAGE - 64
_SHORTEST_ARRAY = 17
"""One byte for an empty list, 16 of its hash."""
_GET, _SET, _OFFSET, _LENGTH, _PARAM, _PROTOCOL = 0x01, 0x02, 0x03, 0x04, 0x05, 0x06


def large_blobs(
    session: Session,
    parameters: Parameters,
    interaction: Interaction,  # noqa: ARG001
) -> dict[int, Any]:
    # The write that is under way goes on only if this is its next fragment.
    begun, session.blob_write = session.blob_write, None
    offset = parameters.get(_OFFSET, int)
    reads, writes = _GET in parameters, _SET in parameters
    if offset is None or offset < 0 or reads == writes:
        raise CtapFailure(Status.INVALID_PARAMETER)
    if reads:
        return _read(session, parameters, offset)
    _write(session, parameters, offset, begun)
    return {}


def _read(session: Session, parameters: Parameters, offset: int) -> dict[int, Any]:
    wanted = parameters.require(_GET, int)
    if any(member in parameters for member in (_LENGTH, _PARAM, _PROTOCOL)) or wanted < 0:
        raise CtapFailure(Status.INVALID_PARAMETER)
    if wanted > MAXIMUM_FRAGMENT:
        raise CtapFailure(Status.INVALID_LENGTH)
    stored = session.core.large_blobs
    if offset > len(stored):
        raise CtapFailure(Status.INVALID_PARAMETER)
    return {0x01: stored[offset : offset + wanted]}


def _write(session: Session, parameters: Parameters, offset: int, begun: BlobWrite | None) -> None:
    fragment = parameters.require(_SET, bytes)
    length = parameters.get(_LENGTH, int)
    if len(fragment) > MAXIMUM_FRAGMENT:
        raise CtapFailure(Status.INVALID_LENGTH)
    if offset == 0:
        if length is None:
            raise CtapFailure(Status.INVALID_PARAMETER)
        if length > LARGE_BLOB_CAPACITY:
            raise CtapFailure(Status.LARGE_BLOB_STORAGE_FULL)
        if length < _SHORTEST_ARRAY:
            raise CtapFailure(Status.INVALID_PARAMETER)
        write = BlobWrite(length)
    elif length is not None:
        raise CtapFailure(Status.INVALID_PARAMETER)
    elif begun is None or offset != len(begun.received):
        raise CtapFailure(Status.INVALID_SEQUENCE)
    else:
        write = begun
    if session.protected or session.always_uv:
        auth = pin_uv_auth(session, parameters, _PARAM, _PROTOCOL)
        place = b"\x0c\x00" + offset.to_bytes(4, "little")
        message = b"\xff" * 32 + place + sha256(fragment).digest()
        check_permission(session, auth, message, Permission.LARGE_BLOB_WRITE)
    if offset + len(fragment) > write.length:
        raise CtapFailure(Status.INVALID_PARAMETER)
    write.received += fragment
    if len(write.received) < write.length:
        session.blob_write = write
        return
    # Whole: the array ends in the first half of its own hash.
    array, check = write.received[:-16], write.received[-16:]
    if sha256(array).digest()[:16] != check:
        raise CtapFailure(Status.INTEGRITY_FAILURE)
    session.core.large_blobs = write.received
