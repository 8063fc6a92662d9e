"""MCP of the handshake era over HTTP, as gateways that are not ours serve it.

One JSON answer for each request, no streams. Besides there are GET /done, which tells what ran, and
POST to a path of the gateway's own for the person who decides. Standard library only. Knows no
consent.
"""

from __future__ import annotations

import contextlib
import json
import secrets
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol


class Gateway(Protocol):
    """What is served."""

    name: str
    persons_path: str
    """Where the person's decisions arrive."""
    done: list[str]
    """The tools that ran."""

    def told(self, what: dict[str, Any]) -> Any:
        """By the person; what they see."""

    def caller_named(self, name: object) -> str:
        """The caller for a client that gave this name, which may be anything."""

    def listing(self) -> list[dict[str, Any]]: ...

    def call(self, caller: str, params: dict[str, Any]) -> dict[str, Any]:
        """Of tools/call: the member `result` or `error` of the answer."""


def failed(code: int | str, message: str, data: Any = None) -> dict[str, Any]:
    more = {} if data is None else {"data": data}
    return {"error": {"code": code, "message": message, **more}}


class _Handler(BaseHTTPRequestHandler):
    gateway: Gateway
    clients: dict[str, str]

    def do_GET(self) -> None:
        if self.path == "/done":
            self.answer(self.gateway.done)
        else:
            self.send_error(405)

    def do_DELETE(self) -> None:
        self.answer({})

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path == self.gateway.persons_path:
            return self.answer(self.gateway.told(message))
        if "id" not in message:
            self.send_response(202)
            self.send_header("Content-Length", "0")
            return self.end_headers()
        session = self.headers.get("mcp-session-id", "")
        params = message.get("params") or {}
        reply = failed(-32601, "not here")
        match message["method"]:
            case "initialize":
                session = secrets.token_hex(8)
                reply = {"result": self.begun(session, params)}
            case "tools/list":
                reply = {"result": {"tools": self.gateway.listing()}}
            case "tools/call":
                reply = self.gateway.call(self.clients[session], params)
        return self.answer({"jsonrpc": "2.0", "id": message["id"], **reply}, session)

    def begun(self, session: str, params: dict[str, Any]) -> dict[str, Any]:
        info = params.get("clientInfo")
        name = info.get("name") if isinstance(info, dict) else None
        self.clients[session] = self.gateway.caller_named(name)
        return {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": self.gateway.name, "version": "1"},
        }

    def answer(self, value: Any, session: str = "") -> None:
        content = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        if session:
            self.send_header("Mcp-Session-Id", session)
        self.end_headers()
        with contextlib.suppress(ConnectionError):
            self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Quiet."""


def serve(gateway: Gateway, port: int) -> None:
    """For ever."""
    members = {"gateway": gateway, "clients": {}}
    handler = type("Handler", (_Handler,), members)
    ThreadingHTTPServer(("127.0.0.1", port), handler).serve_forever()
