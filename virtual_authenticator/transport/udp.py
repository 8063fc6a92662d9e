"""CTAPHID over UDP on the loopback: one packet a datagram, as emulated keys are reached.

Answers go to whom the channel's last packet came from, or to the port given: some clients send from
one port and listen on another. Knows of packets only that they begin with their channel. Nothing
here is encrypted or authenticated, so it listens on the loopback only.
"""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import TYPE_CHECKING

from .hid import KEEPALIVE_INTERVAL
from .packets import PACKET
from .serving import ServedKey

if TYPE_CHECKING:
    from ..authenticator import Authenticator

HOST = "127.0.0.1"
_MOST_PEERS = 1024


class UdpServer(ServedKey):
    """`port` 0 takes any free one; `port` then tells which."""

    def __init__(
        self, authenticator: Authenticator, port: int = 0, *, reply_port: int | None = None
    ) -> None:
        super().__init__(authenticator)
        self.port = port
        self._reply_port = reply_port
        self._peers: dict[bytes, tuple[str, int]] = {}

    def _open(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.bind((HOST, self.port))
        except OSError:
            self._socket.close()
            raise
        self._socket.settimeout(KEEPALIVE_INTERVAL)
        self.port = self._socket.getsockname()[1]

    def _step(self) -> None:
        with suppress(TimeoutError, ConnectionError):  # the latter: an answer was not delivered
            packet, peer = self._socket.recvfrom(2 * PACKET)
            if len(self._peers) >= _MOST_PEERS:
                self._peers.clear()
            self._peers[packet[:4]] = peer
            self.key.receive(packet)

    def _send(self, packet: bytes) -> None:
        peer = self._peers.get(packet[:4])
        if peer is not None:
            with suppress(OSError):  # the client is gone, or this is being closed: nobody waits
                self._socket.sendto(packet, (peer[0], self._reply_port or peer[1]))

    def _close(self) -> None:
        self._socket.close()
