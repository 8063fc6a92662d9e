"""The door on HTTP: an ASGI middleware in front of the MCP endpoint.

Reads the whole body of a POST, lets `door.check` look at it, and answers a refusal itself (400, or
413 if it is too large). Other methods and paths pass unchanged; it reports sessions that a client
ends by DELETE, and notes whether a client hangs up before its answer. Knows no JSON of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from . import door
from .conversation import ClientConnection


class HttpDoor:
    """`app` behind the door. Any ASGI application will do; the path is that of its MCP endpoint."""

    def __init__(
        self, app: Any, path: str = "/mcp", session_ended: Callable[[str], None] = lambda _: None
    ) -> None:
        self.app = app
        self.path = path
        self._session_ended = session_ended

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        guarded = scope["type"] == "http" and scope["path"] == self.path
        if guarded and scope["method"] == "DELETE":
            await self._end_session(scope, receive, send)
        elif guarded and scope["method"] == "POST":
            await self._let_in(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _let_in(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            body = await _read(Request(scope, receive))
            body = door.let_in(body)
        except ClientDisconnect:
            return
        except door.DoorRefusal as refusal:
            await _answer(refusal)(scope, receive, send)
            return
        unread: list[dict[str, Any]] = [{"type": "http.request", "body": body, "more_body": False}]
        connection = ClientConnection()

        async def replay() -> Any:
            if unread:
                return unread.pop()
            message = await receive()
            connection.noticed(message)
            return message

        async def watch(message: Any) -> None:
            connection.sent(message)
            await send(message)

        await self.app(connection.put_into(scope), replay, watch)

    async def _end_session(self, scope: Any, receive: Any, send: Any) -> None:
        """The end is reported before the answer goes out, so that the client can rely on it."""
        session = Request(scope).headers.get("mcp-session-id", "")

        async def watch(message: Any) -> None:
            is_over = message["type"] == "http.response.start" and message["status"] < 300
            if is_over and session:
                await anyio.to_thread.run_sync(self._session_ended, session)
            await send(message)

        await self.app(scope, receive, watch)


async def _read(request: Request) -> bytes:
    announced = request.headers.get("content-length", "0")
    if announced.isdigit() and int(announced[:20]) > door.MAXIMUM_BYTES:
        raise door.TooLargeRefusal
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > door.MAXIMUM_BYTES:
            raise door.TooLargeRefusal
    return bytes(body)


def _answer(refusal: door.DoorRefusal) -> Response:
    body = refusal.to_bytes()
    if isinstance(refusal, door.TooLargeRefusal):
        # The rest of the body was not read.
        return Response(body, 413, {"connection": "close"}, "application/json")
    return Response(body, 400, media_type="application/json")
