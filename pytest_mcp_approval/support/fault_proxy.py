"""A small HTTP proxy on loopback that does to one request what a bad network does.

Every request has a connection of its own to the server behind it. The next request after `arm` is
spoilt, all others pass unchanged, but for the Host header: the server gets the one that it expects.
Knows no MCP.
"""

from __future__ import annotations

import contextlib
import queue
import re
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from .connection import Address, ConnectFailedError, Connection, tls_context
from .deadline import Deadline

_SECONDS = 30.0
"""For everything that one request needs."""
_OTHER_COPIES = 1.0
"""How much longer the answers to further copies of a request may take than the first."""
_LONGEST_HEAD = 64 * 1024
_LONGEST_BODY = 16 * 1024 * 1024
_HEAD_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"(?im)^content-length:[ \t]*([0-9]{1,9})[ \t]*\r?$")
_REPLACED = re.compile(rb"(?im)^(?:host|connection|keep-alive):[^\r\n]*\r\n")


@dataclass(frozen=True)
class NetworkFault:
    """What happens to one request and its answer. Offsets are fractions of the whole: 0 is before
    the first byte, 1 after the last; one of 2 stands for all but the last byte."""

    name: str
    copies: int = 1
    """How often the request arrives."""
    request_until: float = 1.0
    """How much of the request arrives, before the connection is cut."""
    answer_until: float = 1.0
    """How much of the answer arrives, before the connection is cut."""
    pause: float = 0.0
    """Seconds between the two halves of the request, and of the answer."""


ALL_BUT_THE_LAST = 2.0


def _first(data: bytes, part: float) -> bytes:
    return data[:-1] if part == ALL_BUT_THE_LAST else data[: round(len(data) * part)]


class FaultProxy:
    """Listens from the start; close it."""

    def __init__(self, url: str) -> None:
        """`url` is what it stands in front of; `AddressError` if that is no http(s) URL."""
        self._address = Address.parse(url)
        self._context = tls_context() if self._address.secure else None
        self._lock = threading.Lock()
        self._armed: NetworkFault | None = None
        self._spoilt = threading.Event()
        self._open: set[socket.socket] = set()
        self._closed = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}{self._address.target}"
        threading.Thread(target=self._listen, name="mcp-approval proxy", daemon=True).start()

    def arm(self, fault: NetworkFault) -> None:
        """Spoil the next request."""
        with self._lock:
            self._spoilt.clear()
            self._armed = fault

    @property
    def spoilt(self) -> bool:
        """Whether a request came since `arm`, and all that was to be done with it is done."""
        return self._spoilt.wait(_SECONDS)

    def close(self) -> None:
        self._closed.set()
        # Closing alone does not wake who waits in accept.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            left = list(self._open)
        for one in left:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- one connection

    def _listen(self) -> None:
        while not self._closed.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with self._lock:
            self._open.add(client)
        fault: NetworkFault | None = None
        try:
            # A server or a client that goes away ends this connection and nothing else.
            with contextlib.suppress(OSError, ConnectFailedError):
                request = self._request(Connection(client), Deadline(_SECONDS))
                if request:
                    with self._lock:
                        fault, self._armed = self._armed, None
                    self._pass_on(request, client, fault)
        finally:
            with self._lock:
                self._open.discard(client)
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
            client.close()
            if fault is not None:
                self._spoilt.set()

    def _request(self, client: Connection, deadline: Deadline) -> bytes:
        """The next request with the server's own Host; empty if none comes."""
        data = b""
        while _HEAD_END not in data:
            piece = client.receive(deadline)
            data += piece
            if not piece or len(data) > _LONGEST_HEAD + _LONGEST_BODY:
                return b""
        head, _, body = data.partition(_HEAD_END)
        head += b"\r\n"
        told = _LENGTH.search(head)
        length = int(told[1]) if told else 0
        if length > _LONGEST_BODY:
            return b""
        while len(body) < length:
            piece = client.receive(deadline)
            if not piece:
                return b""
            body += piece
        line, _, headers = head.partition(b"\r\n")
        own = b"Host: %s\r\nConnection: close\r\n" % self._address.authority.encode()
        return line + b"\r\n" + own + _REPLACED.sub(b"", headers) + b"\r\n" + body

    def _pass_on(self, request: bytes, client: socket.socket, fault: NetworkFault | None) -> None:
        deadline = Deadline(_SECONDS)
        if fault is None:
            self._exchange(request, deadline, client.sendall)
            return
        if fault.request_until != 1.0:
            self._exchange(_first(request, fault.request_until), Deadline(0.0), None)
            return
        answers: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        for _ in range(fault.copies):
            arguments = (request, deadline, answers, fault.pause)
            threading.Thread(target=self._collect, args=arguments, daemon=True).start()
        with contextlib.suppress(queue.Empty):
            first = answers.get(timeout=_SECONDS)
            # A server may answer only one of several with the same id, and leave the rest open.
            others = Deadline(_OTHER_COPIES)
            with contextlib.suppress(queue.Empty):
                for _ in range(fault.copies - 1):
                    answers.get(timeout=max(0.01, others.left()))
            self._answer(client, first, fault)

    def _answer(self, client: socket.socket, answer: bytes, fault: NetworkFault) -> None:
        given = answer if fault.answer_until == 1.0 else _first(answer, fault.answer_until)
        half = len(given) // 2 if fault.pause else 0
        client.sendall(given[:half])
        self._closed.wait(fault.pause)
        client.sendall(given[half:])

    def _collect(
        self,
        request: bytes,
        deadline: Deadline,
        answers: queue.SimpleQueue[bytes],
        pause: float,
    ) -> None:
        whole = bytearray()
        with contextlib.suppress(OSError, ConnectFailedError):
            self._exchange(request, deadline, whole.extend, pause)
        answers.put(bytes(whole))

    def _exchange(
        self,
        request: bytes,
        deadline: Deadline,
        take: Callable[[bytes], object] | None,
        pause: float = 0.0,
    ) -> None:
        """Send it, and hand on what comes until the server closes; None: do not wait for it."""
        server = Connection.open(self._address, self._context, Deadline(_SECONDS))
        with self._lock:
            self._open.add(server.socket)
        try:
            half = len(request) // 2 if pause else 0
            server.send_all(request[:half], Deadline(_SECONDS))
            self._closed.wait(pause)
            server.send_all(request[half:], Deadline(_SECONDS))
            while take is not None:
                piece = server.receive(deadline)
                if not piece:
                    return
                take(piece)
        finally:
            with self._lock:
                self._open.discard(server.socket)
            server.close()
