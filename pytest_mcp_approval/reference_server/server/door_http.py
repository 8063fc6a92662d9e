"""The door on HTTP: an ASGI middleware before the MCP endpoint.

Reads the whole body of a POST, lets `door.check` look at it, and answers a refusal itself (400, or
413 for what is too large). Other methods and other paths pass untouched; a session that a client
ends by DELETE is told. Knows no JSON of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio

from . import door


class HttpDoor:
    """`app` behind the door. Any ASGI application will do; the path is that of its MCP endpoint."""

    def __init__(
        self, app: Any, path: str = "/mcp", session_ended: Callable[[str], None] | None = None
    ) -> None:
        self.app = app
        self.path = path
        self._session_ended = session_ended

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["method"] == "DELETE" and scope["path"] == self.path:
            await self._end_session(scope, receive, send)
            return
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] != self.path:
            await self.app(scope, receive, send)
            return
        try:
            body = await _read(scope, receive)
            if body is None:  # the client has gone
                return
            door.check(body)
        except door.DoorRefusal as refusal:
            await _answer(refusal, send)
            return
        unread: list[dict[str, Any]] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Any:
            return unread.pop() if unread else await receive()

        await self.app(scope, replay, send)

    async def _end_session(self, scope: Any, receive: Any, send: Any) -> None:
        """The end is told before the answer goes out, so that whoever has it can rely on it."""
        session = dict(scope["headers"]).get(b"mcp-session-id", b"").decode("latin-1")

        async def watch(message: Any) -> None:
            if message["type"] == "http.response.start" and message["status"] < 300:
                await self._tell_end(session)
            await send(message)

        await self.app(scope, receive, watch)

    async def _tell_end(self, session: str) -> None:
        if self._session_ended is not None and session:
            await anyio.to_thread.run_sync(self._session_ended, session)


async def _read(scope: Any, receive: Any) -> bytes | None:
    announced = dict(scope["headers"]).get(b"content-length", b"0")
    if announced.isdigit() and int(announced[:20]) > door.MAXIMUM_BYTES:
        raise door.TooLargeRefusal
    body = bytearray()
    while True:
        part = await receive()
        if part["type"] == "http.disconnect":
            return None
        body += part.get("body", b"")
        if len(body) > door.MAXIMUM_BYTES:
            raise door.TooLargeRefusal
        if not part.get("more_body", False):
            return bytes(body)


async def _answer(refusal: door.DoorRefusal, send: Any) -> None:
    body = refusal.to_bytes()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    status = 400
    if isinstance(refusal, door.TooLargeRefusal):
        status = 413
        headers.append((b"connection", b"close"))  # the rest of the body was not read
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
