"""CTAPHID's packets (CTAP 2.3, section 11.2.4): a message cut into pieces of 64 bytes.

Knows how packets are laid out, nothing of what commands mean or of who is talking.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

PACKET = 64
BROADCAST = 0xFFFFFFFF
_IN_FIRST, _IN_OTHERS = PACKET - 7, PACKET - 5
LONGEST_MESSAGE = _IN_FIRST + 128 * _IN_OTHERS
"""7609 bytes: sequence numbers go from 0 to 127."""
_FIRST = 0x80
"""This bit tells a command, in a first packet, from a sequence number."""


class Command(IntEnum):
    """Section 11.2.9, without the bit that marks a first packet."""

    PING = 0x01
    MSG = 0x03
    LOCK = 0x04
    INIT = 0x06
    WINK = 0x08
    CBOR = 0x10
    CANCEL = 0x11
    KEEPALIVE = 0x3B
    ERROR = 0x3F


class Error(IntEnum):
    """What the payload of an ERROR says (section 11.2.9.1.6)."""

    INVALID_COMMAND = 0x01
    INVALID_PARAMETER = 0x02
    INVALID_LENGTH = 0x03
    INVALID_SEQUENCE = 0x04
    TIMEOUT = 0x05
    CHANNEL_BUSY = 0x06
    INVALID_CHANNEL = 0x0B
    OTHER = 0x7F


@dataclass(frozen=True)
class First:
    """The packet that begins a message."""

    channel: int
    command: int
    length: int
    data: bytes


@dataclass(frozen=True)
class Following:
    """One that continues it."""

    channel: int
    sequence: int
    data: bytes


def parse(packet: bytes) -> First | Following | None:
    """A packet, or None if it is too short to be one; padding stays in `data`."""
    if len(packet) < 7:
        return None
    channel = int.from_bytes(packet[:4], "big")
    if packet[4] & _FIRST:
        length = int.from_bytes(packet[5:7], "big")
        return First(channel, packet[4] & ~_FIRST, length, packet[7:PACKET])
    return Following(channel, packet[4], packet[5:PACKET])


def message(channel: int, command: int, payload: bytes = b"") -> Iterator[bytes]:
    """The packets of a message, padded with zeros."""
    head = channel.to_bytes(4, "big")
    start = head + bytes((_FIRST | command,)) + len(payload).to_bytes(2, "big")
    yield (start + payload[:_IN_FIRST]).ljust(PACKET, b"\0")
    for sequence, at in enumerate(range(_IN_FIRST, len(payload), _IN_OTHERS)):
        yield (head + bytes((sequence,)) + payload[at : at + _IN_OTHERS]).ljust(PACKET, b"\0")
