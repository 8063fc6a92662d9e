"""Peers that misbehave on purpose: a raw socket server, and programs for a child process.

Knows nothing of the wire under test. Nothing here sleeps: a silent peer waits until its client
leaves.
"""

import contextlib
import re
import select
import socket
import sys
import threading
from collections.abc import Callable
from typing import Self

Behaviour = Callable[[socket.socket, bytes], None]


def http(
    body: bytes, status: str = "200 OK", kind: str = "application/json", extra: str = ""
) -> bytes:
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{extra}\r\n"
    )
    return head.encode() + body


def says(*pieces: bytes) -> Behaviour:
    """Sends the pieces, and then waits for the client to go."""

    def behave(connection: socket.socket, _: bytes) -> None:
        for piece in pieces:
            connection.sendall(piece)

    return behave


def then_closes(behave: Behaviour) -> Behaviour:
    def closing(connection: socket.socket, request: bytes) -> None:
        behave(connection, request)
        raise ConnectionAbortedError

    return closing


def floods(head: bytes, piece: bytes, times: int) -> Behaviour:
    """Sends without end, as far as anybody reads."""

    def behave(connection: socket.socket, request: bytes) -> None:
        connection.sendall(head)
        for _ in range(times):
            connection.sendall(piece)

    return behave


def drips(first: bytes, piece: bytes) -> Behaviour:
    """A piece long before any time-out of a socket, as long as anybody listens."""

    def behave(connection: socket.socket, _: bytes) -> None:
        connection.sendall(first)
        while not select.select([connection], [], [], 0.02)[0]:
            connection.sendall(piece)

    return behave


HANG_SECONDS = 60.0
"""Seconds for what comes in any case: on a machine however busy, only a hang takes as long."""
AT_ONCE = HANG_SECONDS / 2
"""Less than this: nobody waited for the deadline."""


class HostileServer:
    """Reads HTTP requests on a (free) port, and lets `behave` do what it wants after each."""

    def __init__(self, behave: Behaviour, port: int = 0) -> None:
        self.behave = behave
        self.requests: list[bytes] = []
        self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", port))
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/mcp"

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        # Shutting down wakes the threads that wait on these; closing alone would not.
        for one in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(HANG_SECONDS)
            assert not thread.is_alive()
        for one in (self._listener, *self._open):
            one.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.connections += 1
                self._open.append(connection)
                thread = threading.Thread(target=self._serve, args=(connection,))
                self._threads.append(thread)
                thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            buffer = b""
            while piece := connection.recv(65536):
                buffer += piece
                head, separator, body = buffer.partition(b"\r\n\r\n")
                length = re.search(rb"(?i)content-length: ([0-9]+)", head)
                if separator and len(body) >= (int(length[1]) if length else 0):
                    self.requests.append(buffer)
                    buffer = b""
                    self.behave(connection, self.requests[-1])
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)


def program(text: str) -> list[str]:
    """A command that runs Python text which may use the functions of the prelude."""
    prelude = r"""
import json, os, sys, time
def read():
    line = sys.stdin.buffer.readline()
    return json.loads(line) if line else sys.exit(0)
def say(line):
    sys.stdout.buffer.write(line + b"\n"); sys.stdout.buffer.flush()
def answer(request, result):
    say(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode())
def wait():
    sys.stdin.buffer.read()
"""
    return [sys.executable, "-S", "-E", "-c", prelude + text]


SERVE_HANDSHAKE = r"""
def open_up():
    while True:
        request = read()
        if request.get("method") == "initialize":
            answer(request, {"protocolVersion": "2025-11-25", "capabilities": {},
                             "serverInfo": {"name": "program", "version": "0"}})
        elif request.get("method") == "notifications/initialized":
            return
        else:
            say(json.dumps({"jsonrpc": "2.0", "id": request["id"],
                            "error": {"code": -32601, "message": "no"}}).encode())
open_up()
"""
"""To be put before a program: the old handshake, as a server that knows no other."""
