"""Base64url as WebAuthn writes it: the URL alphabet, no padding, nothing else.

Does not know what the bytes mean.
"""

from __future__ import annotations

import binascii

_TO_URL = bytes.maketrans(b"+/", b"-_")
_FROM_URL = bytes.maketrans(b"-_+/=", b"+/***")
"""What the other alphabet has is no character of this one."""
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
# By the number of characters after whole groups of four: the last characters whose unused bits are
# zero.
_LAST = ("", "", "AQgw", "AEIMQUYcgkosw048")
_PADDING = (b"", b"", b"==", b"=")


def base64url_encode(data: bytes) -> str:
    """Encode as base64url without padding."""
    return binascii.b2a_base64(data, newline=False).rstrip(b"=").translate(_TO_URL).decode()


def base64url_decode(text: str) -> bytes:
    """Decode base64url without padding; anything else is a ValueError that says what it got."""
    rest = len(text) & 3
    try:
        return binascii.a2b_base64(
            text.encode().translate(_FROM_URL) + _PADDING[rest], strict_mode=True
        )
    except ValueError:
        pass
    if rest == 1 and not text.strip(_ALPHABET):
        raise ValueError(f"got {len(text)} characters, which is no length that base64url can have")
    raise ValueError(f"got {shorten(text)}, expected base64url without padding")


def decode_canonical(text: str) -> bytes | None:
    """Decode the one text that encoding gives for some bytes; None if it is any other."""
    rest = len(text) & 3
    if rest and text[-1] not in _LAST[rest]:
        return None
    try:
        return binascii.a2b_base64(
            text.encode().translate(_FROM_URL) + _PADDING[rest], strict_mode=True
        )
    except ValueError:
        return None


def base64url_canonical(text: str) -> str:
    """The text that encoding the decoded bytes gives; a ValueError as from decoding."""
    return text if decode_canonical(text) is not None else base64url_encode(base64url_decode(text))


def shorten(value: object, limit: int = 60) -> str:
    """A value for a message: its representation, cut to a bounded size."""
    try:
        text = repr(value) if not isinstance(value, (bytes, bytearray)) else f"h'{value.hex()}'"
    except (ValueError, RecursionError):  # a number of thousands of digits, endless nesting
        text = f"a {type(value).__name__} too large to be shown"
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit} more characters)"
