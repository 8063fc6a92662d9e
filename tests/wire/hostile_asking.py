"""Servers that open a session properly and misbehave while a call is open: over HTTP and on stdio.

Knows the wire only as a client that a test hands on.
"""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pytest_mcp_approval.wire import (
    HttpTransport,
    OpenCall,
    ServerRequest,
    Session,
    StdioTransport,
    open_session,
)
from tests.wire.hostile import HANG_SECONDS, SERVE_HANDSHAKE, HostileServer, http, program

STREAM = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: keep-alive\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)
INITIALIZED = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "bad"}}
Say = Callable[[socket.socket], None]


def event(message: object) -> bytes:
    data = b"data: " + json.dumps(message).encode() + b"\n\n"
    return b"%x\r\n%s\r\n" % (len(data), data)


def asks(request_id: object = "q", method: str = "elicitation/create") -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": {"message": "?"}}


def result(request_id: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": request_id, "result": {"ok": True}}


class Asking:
    """An HTTP server that opens sessions properly, and is bad in calls and on GET."""

    def __init__(self) -> None:
        self.on_call: Callable[[socket.socket, object], None] = lambda _connection, _id: None
        self.on_get: Say = lambda connection: connection.sendall(
            http(b"no", "405 Method Not Allowed", "text/plain")
        )
        self.answer_status = "202 Accepted"
        self.heads: list[bytes] = []
        """Of what was not a GET."""
        self.answers: list[dict[str, object]] = []
        self.answered = threading.Semaphore(0)

    def behave(self, connection: socket.socket, request: bytes) -> None:
        head, _, body = request.partition(b"\r\n\r\n")
        if head.startswith(b"GET"):
            self.on_get(connection)
            return
        self.heads.append(head)
        if b"X-Gone" in head:
            connection.sendall(http(b"", "404 Not Found"))
            return
        message = json.loads(body) if body else {}
        match message.get("method"):
            case "initialize":
                opened = {"jsonrpc": "2.0", "id": message["id"], "result": INITIALIZED}
                connection.sendall(http(json.dumps(opened).encode(), extra="Mcp-Session-Id: s\r\n"))
            case "tools/call":
                self.on_call(connection, message["id"])
            case None if body:
                self.answers.append(message)
                self.answered.release()
                connection.sendall(http(b"", self.answer_status))
            case _:
                connection.sendall(http(b"", "202 Accepted"))

    def wait_for_an_answer(self) -> dict[str, object]:
        assert self.answered.acquire(timeout=HANG_SECONDS)
        return self.answers[-1]


@contextmanager
def over_http(asking: Asking) -> Iterator[Session]:
    with (
        HostileServer(asking.behave) as server,
        HttpTransport(server.url) as transport,
        open_session(transport, "2025-11-25", deadline=HANG_SECONDS) as session,
    ):
        yield session


@contextmanager
def over_stdio(text: str) -> Iterator[Session]:
    asking = "def ask(id='q'): say(json.dumps({'jsonrpc': '2.0', 'id': id, "
    asking += "'method': 'elicitation/create', 'params': {'message': '?'}}).encode())\n"
    with (
        StdioTransport(program(SERVE_HANDSHAKE + asking + text)) as transport,
        open_session(transport, "2025-11-25", deadline=HANG_SECONDS) as session,
    ):
        yield session


def opened(session: Session) -> OpenCall:
    return session.open_call("tools/call", {"name": "x", "arguments": {}})


def question(call: OpenCall) -> ServerRequest:
    request = call.next_request(HANG_SECONDS)
    assert request is not None, call.reply
    return request
