"""Scripted servers over Streamable HTTP, on one port of this machine for a whole run.

Each server has a path of its own, so that a late request of one client never reaches the next.
Beside MCP the door serves whatever a run needs over HTTP, such as an authenticator. Knows no
family.
"""

from __future__ import annotations

import itertools
import json
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ..support import recording
from ..support.deadline import now
from ..support.exchanges import Excerpt, Exchange, without_secrets
from ..wire.reply import Outcome
from .messages import Answer, Ask, HangUp, Incoming, LostSession, Result, ScriptedRefusal
from .scripted_server import ScriptedServer

_LARGEST = 16 * 1024 * 1024
_IDLE_SECONDS = 30.0

_FOR_PAGES = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Headers": "*, Authorization",
    "Access-Control-Allow-Methods": "POST, GET, DELETE, OPTIONS",
    "Access-Control-Expose-Headers": "Mcp-Session-Id, WWW-Authenticate",
}
"""A client may be a page of any origin."""

Service = Callable[[str, Any], Any]
"""Takes the last part of a path and the JSON that was posted, and returns JSON."""


class ScriptedHttpDoor:
    """Open it once; `serve` gives each server an address."""

    def __init__(self) -> None:
        self.servers: dict[str, ScriptedServer] = {}
        self.services: dict[str, Service] = {}
        self._numbers = itertools.count(1)
        door = self

        class Handler(_ScriptHandler):
            pass

        Handler.door = door
        self._server = _Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever,
            kwargs={"poll_interval": 0.05},
            name="mcp-approval scripted server",
            daemon=True,
        )
        self._thread.start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def serve(self, server: ScriptedServer) -> str:
        """The URL of this server's endpoint."""
        key = str(next(self._numbers))
        self.servers[key] = server
        return f"{self.address}/{key}/mcp"

    def offer(self, service: Service) -> str:
        """The URL below which a service is reached by POST."""
        key = f"service-{next(self._numbers)}"
        self.services[key] = service
        return f"{self.address}/{key}"

    def withdraw(self, *urls: str) -> None:
        for url in urls:
            key = url.removeprefix(self.address).split("/")[1]
            self.servers.pop(key, None)
            self.services.pop(key, None)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # Requests of a client that is gone may still wait: nobody waits for them.
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is nothing to print."""


class _ScriptHandler(BaseHTTPRequestHandler):
    door: ScriptedHttpDoor
    protocol_version = "HTTP/1.1"
    timeout = _IDLE_SECONDS
    server_version = "scripted"

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the recording has it all."""

    def setup(self) -> None:
        super().setup()
        # Small answers in pieces would each wait for an acknowledgement.
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def _server_of(self) -> tuple[ScriptedServer | None, str]:
        _, key, rest = [*self.path.split("/", 2), "", ""][:3]
        return self.door.servers.get(key), rest.partition("?")[0]

    def do_GET(self) -> None:
        server, rest = self._server_of()
        if server is not None and rest != "mcp":
            server.fetch(self.path)
            self._send(200, b"<p>A page", "text/html")
            return
        # A server need not have a stream of its own.
        self._send(405 if server is not None else 404, b"", "text/plain")

    do_HEAD = do_GET  # noqa: N815

    def do_OPTIONS(self) -> None:
        """A page of another origin asks whether it may."""
        self._send(204, b"", "text/plain")

    def do_DELETE(self) -> None:
        server, _ = self._server_of()
        if server is not None:
            server.sessions.discard(self.headers.get("Mcp-Session-Id", ""))
        self._send(200, b"", "text/plain")

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(min(length, _LARGEST))
        server, rest = self._server_of()
        key = self.path.split("/")[1]
        if key in self.door.services:
            self._serve(self.door.services[key], body)
        elif server is None or rest != "mcp":
            if server is not None:
                server.fetch(self.path)
            self._send(404, b"", "text/plain")
        else:
            self._speak(server, body)

    def _serve(self, service: Service, body: bytes) -> None:
        try:
            given = json.loads(body or b"{}")
            status, told = 200, service(self.path.rsplit("/", 1)[-1], given)
        except ValueError as error:
            status, told = 400, {"error": str(error)}
        self._send(status, json.dumps(told).encode(), "application/json")

    def _speak(self, server: ScriptedServer, body: bytes) -> None:
        began = now()
        incoming = server.take(body, tuple(self.headers.items()))
        if incoming is None:
            self._send(400, b"", "text/plain")
            return
        if not incoming.is_request:
            self._send(202, b"", "text/plain")
            if not incoming.method:
                self._record(
                    incoming, b"", 202, began, outcome=Outcome.ACCEPTED.value, method="answer"
                )
            return
        answer = server.answer(incoming)
        with suppress(OSError):
            self._carry(server, incoming, answer, began)

    def _carry(
        self, server: ScriptedServer, incoming: Incoming, answer: Answer, began: float
    ) -> None:
        """Bring an answer to the client, and what is asked before it."""
        sent = b""
        streaming = server.streams or isinstance(answer, Ask)
        headers = {}
        if incoming.method == "initialize" and isinstance(answer, Result):
            headers["Mcp-Session-Id"] = server.new_session(incoming)
        if streaming and not isinstance(answer, LostSession):
            self._head(200, "text/event-stream", None, headers)
        while isinstance(answer, Ask):
            own, request = server.asked(answer)
            sent += self._event(request)
            answered = server.await_answer(own, server.patience)
            answer = server.go_on(answer, answered)
        if isinstance(answer, HangUp):
            self._record(incoming, sent, None, began, outcome=Outcome.CLOSED.value)
            self._break_off(begun=streaming)
            return
        if isinstance(answer, LostSession):
            self._record(incoming, sent, 404, began, outcome=Outcome.HTTP_STATUS.value)
            self._send(404, b"", "text/plain")
            return
        told = server.wrapped(incoming, answer)
        if streaming:
            content = sent + json.dumps(told).encode()
            self._record(incoming, content, 200, began, outcome=_outcome(answer))
            self._event(told)
            self._chunk(b"")
            return
        content = json.dumps(told).encode()
        self._record(incoming, content, 200, began, outcome=_outcome(answer))
        self._send(200, content, "application/json", headers)

    def _break_off(self, *, begun: bool) -> None:
        """Close the connection in the middle of an answer. Before any of it, a browser would send
        the request again by itself, which is not the client's doing."""
        if not begun:
            self._head(200, "application/json", 1000, {})
            self.wfile.write(b'{"jsonrpc":')
            self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    # ---- bytes

    def _record(
        self,
        incoming: Incoming,
        sent: bytes,
        status: int | None,
        began: float,
        *,
        outcome: str = Outcome.RESULT.value,
        method: str = "",
    ) -> None:
        recording.add(
            Exchange(
                method=method or incoming.method,
                sent=Excerpt.of(incoming.raw),
                received=Excerpt.of(sent),
                outcome=outcome,
                detail="",
                started=began,
                seconds=now() - began,
                status=status,
                request_headers=without_secrets(incoming.headers),
            )
        )

    def _head(self, status: int, kind: str, length: int | None, headers: dict[str, str]) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if length is None:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(length))
        for name, value in {**_FOR_PAGES, **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def _send(
        self, status: int, content: bytes, kind: str, headers: dict[str, str] | None = None
    ) -> None:
        with suppress(OSError):
            self._head(status, kind, len(content), headers or {})
            if self.command != "HEAD":
                self.wfile.write(content)

    def _event(self, message: dict[str, Any]) -> bytes:
        content = json.dumps(message).encode()
        self._chunk(b"event: message\ndata: " + content + b"\n\n")
        return content + b"\n"

    def _chunk(self, content: bytes) -> None:
        self.wfile.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")
        self.wfile.flush()


def _outcome(answer: Result | ScriptedRefusal) -> str:
    outcome = Outcome.RESULT if isinstance(answer, Result) else Outcome.ERROR
    return str(outcome.value)
