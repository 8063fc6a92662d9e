"""Base64url as WebAuthn writes it: the URL alphabet, no padding, nothing else.

Knows nothing of what the bytes mean.
"""

from __future__ import annotations

import binascii
import re

_TO_URL = bytes.maketrans(b"+/", b"-_")
_FROM_URL = bytes.maketrans(b"-_", b"+/")
_ALPHABET = re.compile(r"[A-Za-z0-9_-]*", re.ASCII).fullmatch
_PADDING = (b"", b"", b"==", b"=")


def base64url_encode(data: bytes) -> str:
    """Encode as base64url without padding."""
    return binascii.b2a_base64(data, newline=False).translate(_TO_URL).rstrip(b"=").decode("ascii")


def base64url_decode(text: str) -> bytes:
    """Decode base64url without padding; anything else is a ValueError that says what was got."""
    if _ALPHABET(text) is None:
        found = "padding" if re.fullmatch(r"[A-Za-z0-9_-]*=+", text) else "another alphabet"
        raise ValueError(f"got {found} in {shorten(text)}, expected base64url without padding")
    rest = len(text) & 3
    if rest == 1:
        raise ValueError(f"got {len(text)} characters, which is no length that base64url can have")
    return binascii.a2b_base64(text.encode("ascii").translate(_FROM_URL) + _PADDING[rest])


def shorten(value: object, limit: int = 60) -> str:
    """A value as it may stand in a message: its representation, cut to a bounded size."""
    text = repr(value) if not isinstance(value, (bytes, bytearray)) else f"h'{value.hex()}'"
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit} more characters)"
