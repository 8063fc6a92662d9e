"""CTAPHID's state machine (CTAP 2.3, section 11.2): channels, one transaction at a time, locks.

Packets in, packets out, and now and then a request that somebody else must run. Does no input or
output, starts no thread and asks nobody but the clock that it is given.

    idle --first packet, more to come--> assembling --last packet--> running --answer--> idle

A transaction belongs to a channel. INIT on that channel ends it at any time; other channels are
told that the device is busy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from threading import Event

from .packets import BROADCAST, LONGEST_MESSAGE, Command, Error, First, Following, message, parse

PROTOCOL_VERSION = 2
DEVICE_VERSION = (1, 0, 0)
TRANSACTION_TIMEOUT = 0.5
"""Seconds between two packets of a message; section 11.2.5.2 allows no less."""
LONGEST_LOCK = 10
MOST_CHANNELS = 256
"""When more are asked for, the one that was opened first is forgotten."""
WINK, CBOR, NO_MESSAGES = 0x01, 0x04, 0x08
"""Capabilities."""


@dataclass(eq=False)
class Request:
    """A message that came in whole. Whoever runs it hands the answer to `answered`."""

    channel: int
    command: int
    payload: bytes
    cancelled: Event = field(default_factory=Event)


@dataclass(eq=False)
class _Assembly:
    """A message of which packets are still missing."""

    channel: int
    command: int
    length: int
    data: bytes
    touched: float
    sequence: int = 0


class Channels:
    """The device's end of the wire. Not thread-safe: one caller at a time."""

    def __init__(
        self,
        now: Callable[[], float],
        capabilities: Callable[[], int],
        new_channel: Callable[[], int],
    ) -> None:
        self._now = now
        self._capabilities = capabilities
        self._new_channel = new_channel
        """Makes up a number; it is taken if it is free."""
        self._open: dict[int, None] = {}
        self._assembly: _Assembly | None = None
        self._running: Request | None = None
        self._locked_by: int | None = None
        self._locked_until = 0.0
        self.winks = 0
        """How often it was asked to show itself."""

    # ---- what comes in

    def receive(self, packet: bytes) -> tuple[list[bytes], Request | None]:
        """Take a packet: what goes back at once, and what is to be run, if anything."""
        out = self.tick()
        parsed = parse(packet)
        if isinstance(parsed, First):
            more, request = self._begin(parsed)
        elif isinstance(parsed, Following):
            more, request = self._continue(parsed)
        else:
            more, request = [], None
        return [*out, *more], request

    def tick(self) -> list[bytes]:
        """What becomes due by the passing of time: a message that was never finished is dropped."""
        now, assembly = self._now(), self._assembly
        if self._locked_by is not None and now >= self._locked_until:
            self._locked_by = None
        if assembly is not None and now - assembly.touched >= TRANSACTION_TIMEOUT:
            self._assembly = None
            return self._error(assembly.channel, Error.TIMEOUT)
        return []

    def answered(
        self, request: Request, payload: bytes, command: int | None = None
    ) -> Iterable[bytes]:
        """The packets of an answer, by default to the command asked; none if nobody waits for it
        any more."""
        if request is not self._running:
            return []
        self._running = None
        return message(request.channel, request.command if command is None else command, payload)

    def keepalive(self, request: Request, status: int) -> Iterable[bytes]:
        if request is not self._running:
            return []
        return message(request.channel, Command.KEEPALIVE, bytes((status,)))

    @property
    def running(self) -> Request | None:
        return self._running

    # ---- steps

    def _begin(self, packet: First) -> tuple[list[bytes], Request | None]:
        channel = packet.channel
        if packet.command == Command.INIT:
            return self._init(packet), None
        if channel not in self._open:  # which the broadcast channel and 0 never are
            return self._error(channel, Error.INVALID_CHANNEL), None
        if packet.command == Command.CANCEL:
            # Never answered itself; without a CBOR request on this channel nothing happens.
            running = self._running
            if running is not None and running.channel == channel and running.command == 0x10:
                running.cancelled.set()
            return [], None
        if self._assembly is not None and self._assembly.channel == channel:
            self._assembly = None
            return self._error(channel, Error.INVALID_SEQUENCE), None
        busy = self._assembly is not None or self._running is not None
        if busy or self._locked_by not in (None, channel):
            return self._error(channel, Error.CHANNEL_BUSY), None
        if packet.length > LONGEST_MESSAGE:
            return self._error(channel, Error.INVALID_LENGTH), None
        self._assembly = _Assembly(channel, packet.command, packet.length, packet.data, self._now())
        return self._when_whole(self._assembly)

    def _continue(self, packet: Following) -> tuple[list[bytes], Request | None]:
        assembly = self._assembly
        if assembly is None or assembly.channel != packet.channel:
            return [], None  # spurious ones are ignored
        if packet.sequence != assembly.sequence:
            self._assembly = None
            return self._error(packet.channel, Error.INVALID_SEQUENCE), None
        assembly.sequence += 1
        assembly.data += packet.data
        assembly.touched = self._now()
        return self._when_whole(assembly)

    def _when_whole(self, assembly: _Assembly) -> tuple[list[bytes], Request | None]:
        if len(assembly.data) < assembly.length:
            return [], None
        self._assembly = None
        payload = assembly.data[: assembly.length]  # without the padding
        return self._dispatch(assembly.channel, assembly.command, payload)

    def _dispatch(
        self, channel: int, command: int, payload: bytes
    ) -> tuple[list[bytes], Request | None]:
        able = self._capabilities()
        if command == Command.PING:
            return list(message(channel, command, payload)), None
        if command == Command.LOCK:
            return self._lock(channel, payload), None
        if command == Command.WINK and able & WINK:
            if payload:
                return self._error(channel, Error.INVALID_LENGTH), None
            self.winks += 1
            return list(message(channel, command)), None
        known = (command == Command.CBOR and able & CBOR) or (
            command == Command.MSG and not able & NO_MESSAGES
        )
        if not known:
            return self._error(channel, Error.INVALID_COMMAND), None
        if not payload:
            return self._error(channel, Error.INVALID_LENGTH), None
        self._running = Request(channel, command, payload)
        return [], self._running

    def _init(self, packet: First) -> list[bytes]:
        """Section 11.2.9.1.3: a new channel by the broadcast channel, a new start by an own one.
        It is answered at any time: it disturbs no other channel."""
        channel = packet.channel
        if channel != BROADCAST and channel not in self._open:
            return self._error(channel, Error.INVALID_CHANNEL)
        if channel != BROADCAST:
            self._abandon(channel)
        if packet.length != 8:
            return self._error(channel, Error.INVALID_LENGTH)
        given = self._allocate() if channel == BROADCAST else channel
        answer = packet.data[:8] + given.to_bytes(4, "big")
        answer += bytes((PROTOCOL_VERSION, *DEVICE_VERSION, self._capabilities()))
        return list(message(channel, Command.INIT, answer))

    def _allocate(self) -> int:
        if len(self._open) >= MOST_CHANNELS:
            oldest = next(iter(self._open))
            self._abandon(oldest)
            if self._locked_by == oldest:
                self._locked_by = None
            del self._open[oldest]
        while True:
            channel = self._new_channel()
            if channel not in (0, BROADCAST) and channel not in self._open:
                self._open[channel] = None
                return channel

    def _abandon(self, channel: int) -> None:
        if self._assembly is not None and self._assembly.channel == channel:
            self._assembly = None
        if self._running is not None and self._running.channel == channel:
            self._running.cancelled.set()
            self._running = None

    def _lock(self, channel: int, payload: bytes) -> list[bytes]:
        if len(payload) != 1:
            return self._error(channel, Error.INVALID_LENGTH)
        if payload[0] > LONGEST_LOCK:
            return self._error(channel, Error.INVALID_PARAMETER)
        self._locked_by = channel if payload[0] else None
        self._locked_until = self._now() + payload[0]
        return list(message(channel, Command.LOCK))

    def _error(self, channel: int, error: Error) -> list[bytes]:
        return list(message(channel, Command.ERROR, bytes((error,))))
