"""DER, as far as extensions of attestation certificates need it (X.690). Knows no certificate."""

from __future__ import annotations

_INTEGER, _OCTET_STRING, _ENUMERATED, _SEQUENCE, _SET = 0x02, 0x04, 0x0A, 0x30, 0x31
_CONTEXT = 0xA0
_LONG_TAG = 0x1F


def _tagged(tag: bytes, content: bytes) -> bytes:
    size = len(content)
    if size < 0x80:
        return tag + bytes((size,)) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return tag + bytes((0x80 | len(length),)) + length + content


def _number(tag: int, value: int) -> bytes:
    # One bit more than the value has: the sign.
    return _tagged(bytes((tag,)), value.to_bytes(value.bit_length() // 8 + 1, "big"))


def integer(value: int) -> bytes:
    """A number that is not negative."""
    return _number(_INTEGER, value)


def enumerated(value: int) -> bytes:
    return _number(_ENUMERATED, value)


def octet_string(value: bytes) -> bytes:
    return _tagged(bytes((_OCTET_STRING,)), value)


def sequence(*items: bytes) -> bytes:
    return _tagged(bytes((_SEQUENCE,)), b"".join(items))


def set_of(*items: bytes) -> bytes:
    return _tagged(bytes((_SET,)), b"".join(sorted(items)))


def explicit(number: int, content: bytes) -> bytes:
    """A member with a context-specific tag; numbers above 30 take several bytes."""
    if number < _LONG_TAG:
        return _tagged(bytes((_CONTEXT | number,)), content)
    groups = [number & 0x7F]
    while number := number >> 7:
        groups.append(0x80 | number & 0x7F)
    return _tagged(bytes((_CONTEXT | _LONG_TAG, *reversed(groups))), content)
