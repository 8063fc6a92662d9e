"""The extension largeBlob: a blob that is read or written in the course of an assertion, and kept
with its credential. A device has either this or largeBlobKey with its array.

What passes between platform and device is here as Chromium writes it (device/fido, the constants of
the largeBlob extension): blobs are compressed by the platform, and outputs are not signed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import large_blobs
from ..credentials import Credential
from .parameters import Parameters
from .session import Session
from .status import CtapFailure, Status

NAME = "largeBlob"


@dataclass
class BlobRequest:
    """To read the blob, or to write this one."""

    packed: bytes | None
    size: int = 0

    def outputs(self, session: Session, credential: Credential) -> dict[str, Any]:
        """What the platform learns; of a credential without a blob, nothing."""
        if self.packed is None:
            blob = large_blobs.read(session.core, credential)
            if blob is None:
                return {}
            return {NAME: {"blob": large_blobs.deflated(blob), "originalSize": len(blob)}}
        blob = large_blobs.inflated(self.packed, self.size)
        written = blob is not None and large_blobs.write(session.core, credential, blob)
        return {NAME: {"written": written}}


def registration_outputs(session: Session, inputs: Parameters) -> dict[str, Any]:
    """Every credential can have a blob."""
    given = _given(session, inputs)
    if given is None:
        return {}
    if given.require("support", str) not in ("required", "preferred"):
        raise CtapFailure(Status.INVALID_OPTION)
    return {NAME: {"supported": True}}


def read_input(session: Session, inputs: Parameters, *, present: bool) -> BlobRequest | None:
    """Either `read`, or `write` with the size before compression."""
    given = _given(session, inputs)
    if given is None:
        return None
    reads, packed = given.get("read", bool), given.get("write", bytes)
    if (reads is None) == (packed is None):
        raise CtapFailure(Status.INVALID_OPTION)
    if packed is None:
        return BlobRequest(None) if reads else None
    if not present:
        raise CtapFailure(Status.UNSUPPORTED_OPTION)  # nothing is changed without a touch
    return BlobRequest(packed, given.require("originalSize", int))


def _given(session: Session, inputs: Parameters) -> Parameters | None:
    return inputs.map(NAME) if NAME in session.features.extensions else None
