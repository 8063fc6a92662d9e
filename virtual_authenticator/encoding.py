"""Base64url as WebAuthn writes it: the URL alphabet, no padding, nothing else.

Does not know what the bytes mean.
"""

from __future__ import annotations

import binascii
import re

_TO_URL = bytes.maketrans(b"+/", b"-_")
_FROM_URL = bytes.maketrans(b"-_", b"+/")
# By the number of characters after whole groups of four: the last characters whose unused bits are
# zero.
_LAST = ("", "", "AQgw", "AEIMQUYcgkosw048")
_PADDING = (b"", b"", b"==", b"=")
_PLAIN = re.compile("[A-Za-z0-9_-]*").fullmatch


def base64url_encode(data: bytes) -> str:
    """Encode as base64url without padding."""
    return binascii.b2a_base64(data, newline=False).rstrip(b"=").translate(_TO_URL).decode()


def base64url_decode(text: str) -> bytes:
    """Decode base64url without padding; anything else is a ValueError that says what it got."""
    if _PLAIN(text) is None:
        raise ValueError(f"got {shorten(text)}, expected base64url without padding")
    rest = len(text) & 3
    if rest == 1:
        raise ValueError(f"got {len(text)} characters, which is no length that base64url can have")
    return binascii.a2b_base64(text.encode().translate(_FROM_URL) + _PADDING[rest])


def decode_canonical(text: str) -> bytes:
    """Decode what `is_canonical` approved of."""
    return binascii.a2b_base64(text.encode().translate(_FROM_URL) + _PADDING[len(text) & 3])


def is_canonical(text: str) -> bool:
    """Whether decoding the text and encoding the bytes again would give the same text."""
    if _PLAIN(text) is None:
        return False
    rest = len(text) & 3
    return not rest or text[-1] in _LAST[rest]


def base64url_canonical(text: str) -> str:
    """The text that encoding the decoded bytes gives; a ValueError as from decoding."""
    return text if is_canonical(text) else base64url_encode(base64url_decode(text))


def shorten(value: object, limit: int = 60) -> str:
    """A value for a message: its representation, cut to a bounded size."""
    try:
        text = repr(value) if not isinstance(value, (bytes, bytearray)) else f"h'{value.hex()}'"
    except (ValueError, RecursionError):  # a number of thousands of digits, endless nesting
        text = f"a {type(value).__name__} too large to be shown"
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit} more characters)"
