"""CBOR as CTAP2 uses it (RFC 8949, restricted by the CTAP2 canonical form, CTAP 2.1 section 8).

The encoder writes the canonical form. The decoder accepts nothing else, so that a sloppy platform
gets an error: shortest integers, definite lengths, sorted and unique map keys, no tags, no floats,
at most four levels, no bytes left over. Knows nothing of authenticators.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

MAX_DEPTH = 4


class CborError(ValueError):
    """The bytes are not one item in the CTAP2 canonical form."""


class EncodedList(list[Any]):
    """A list that is encoded once and for all: it must not be changed."""

    def __init__(self, items: Iterable[Any]) -> None:
        super().__init__(items)
        self.encoded = encode(list(self))


@lru_cache(maxsize=2048)
def _head(major: int, value: int) -> bytes:
    major <<= 5
    if value < 24:
        return bytes((major | value,))
    if value < 0x100:
        return bytes((major | 24, value))
    if value < 0x10000:
        return bytes((major | 25,)) + value.to_bytes(2, "big")
    if value < 0x100000000:
        return bytes((major | 26,)) + value.to_bytes(4, "big")
    if value < 0x10000000000000000:
        return bytes((major | 27,)) + value.to_bytes(8, "big")
    raise CborError(f"integer {value} does not fit into 64 bits")


def _key_order(pair: tuple[bytes, bytes]) -> tuple[int, int, bytes]:
    key = pair[0]
    return key[0] >> 5, len(key), key


def encode(value: Any) -> bytes:
    """Encode a value in the CTAP2 canonical form."""
    # The exact types come first: nearly every value has one of them.
    kind = type(value)
    if kind is int:
        return _head(0, value) if value >= 0 else _head(1, -1 - value)
    if kind is bytes:
        return b"".join((_head(2, len(value)), value))
    if kind is str:
        text: bytes = value.encode("utf-8")
        return _head(3, len(text)) + text
    if kind is bool:
        return b"\xf5" if value else b"\xf4"
    if value is None:
        return b"\xf6"
    if kind is EncodedList:
        return value.encoded  # type: ignore[no-any-return]
    if isinstance(value, dict):
        return encode_pairs(
            sorted(((encode(k), encode(v)) for k, v in value.items()), key=_key_order)
        )
    if isinstance(value, (list, tuple)):
        return _head(4, len(value)) + b"".join([encode(item) for item in value])
    if isinstance(value, int):
        return encode(int(value))
    if isinstance(value, str):
        return encode(str(value))
    raise CborError(f"cannot encode a {kind.__name__}")


def encode_pairs(pairs: list[tuple[bytes, bytes]]) -> bytes:
    """A map of members that are encoded already, in the order given (faults use any order)."""
    return _head(5, len(pairs)) + b"".join([key + value for key, value in pairs])


def decode(data: bytes) -> Any:
    """Decode one item that fills the data."""
    value, end = decode_from(data, 0)
    if end != len(data):
        raise CborError(f"got {len(data) - end} bytes after the item, expected none")
    return value


def decode_from(data: bytes, start: int = 0) -> tuple[Any, int]:
    """Decode one item at `start`; returns it with the position after it."""
    return _item(data, start, MAX_DEPTH)


def _argument(data: bytes, at: int) -> tuple[int, int]:
    information = data[at] & 0x1F
    at += 1
    if information < 24:
        return information, at
    if information > 27:
        raise CborError("indefinite lengths and reserved heads are not canonical")
    width = 1 << (information - 24)
    if at + width > len(data):
        raise CborError("the data ends inside an item's head")
    value = int.from_bytes(data[at : at + width], "big")
    if value < 24 or (width > 1 and value < 1 << (4 * width)):
        raise CborError(f"{value} is not written in its shortest form")
    return value, at + width


def _item(data: bytes, at: int, depth: int) -> tuple[Any, int]:
    if at >= len(data):
        raise CborError("the data ends where an item was expected")
    major = data[at] >> 5
    if major == 7:
        simple = {0xF4: False, 0xF5: True, 0xF6: None}
        if data[at] not in simple:
            raise CborError(f"simple value or float 0x{data[at]:02x} is not allowed here")
        return simple[data[at]], at + 1
    if major == 6:
        raise CborError("tags are not allowed here")
    value, at = _argument(data, at)
    if major == 0:
        return value, at
    if major == 1:
        return -1 - value, at
    if major in (2, 3):
        end = at + value
        if end > len(data):
            raise CborError(f"a string of {value} bytes goes beyond the data")
        if major == 2:
            return data[at:end], end
        try:
            return data[at:end].decode("utf-8"), end
        except UnicodeDecodeError as error:
            raise CborError("a text string is not UTF-8") from error
    if depth == 0:
        raise CborError(f"nested deeper than {MAX_DEPTH} levels")
    if value > len(data) - at:
        raise CborError(f"{value} members cannot fit into {len(data) - at} bytes")
    if major == 4:
        items = []
        for _ in range(value):
            item, at = _item(data, at, depth - 1)
            items.append(item)
        return items, at
    return _map(data, at, value, depth)


def _map(data: bytes, at: int, size: int, depth: int) -> tuple[dict[Any, Any], int]:
    members: dict[Any, Any] = {}
    previous: tuple[int, int, bytes] | None = None
    for _ in range(size):
        start = at
        key, at = _item(data, at, depth - 1)
        if isinstance(key, (list, dict)):
            raise CborError("a list or a map cannot be a key")
        order = _key_order((data[start:at], b""))
        if previous is not None and order <= previous:
            raise CborError("map keys are not sorted, or one stands twice")
        previous = order
        members[key], at = _item(data, at, depth - 1)
    return members, at
