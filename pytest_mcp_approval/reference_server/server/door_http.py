"""The door on HTTP: an ASGI middleware in front of the MCP endpoint.

Reads the whole body of a POST, lets the door look at it, and answers a refusal itself: 400, 413 if
it is too large, 503 if there are too many large ones at once. A body that does not arrive in time
gets 408. Other methods and paths pass unchanged; it reports sessions that a client ends by DELETE,
and notes whether a client hangs up before its answer. Knows no JSON of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import anyio
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from . import door, door_thread
from .conversation import ServedConnection

READ_SECONDS = 20.0
"""For a whole body, however its bytes are spread."""
_WHOLE_MESSAGE = "body: got a part of it, expected the rest in time"


class MessagesUnderway:
    """How many messages are being read or answered, at all doors of a server. Each door may be in a
    thread of its own."""

    def __init__(self) -> None:
        self.count = 0
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            self.count += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self.count -= 1


class HttpDoor:
    """`app` behind the door. Any ASGI application will do; the path is that of its MCP endpoint."""

    def __init__(
        self,
        app: Any,
        path: str = "/mcp",
        session_ended: Callable[[str], None] = lambda _: None,
        underway: MessagesUnderway | None = None,
    ) -> None:
        self.app = app
        self.path = path
        self._session_ended = session_ended
        self._underway = underway or MessagesUnderway()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        guarded = scope["type"] == "http" and scope["path"] == self.path
        if guarded and scope["method"] == "DELETE":
            await self._end_session(scope, receive, send)
        elif guarded and scope["method"] == "POST":
            with self._underway:
                await self._let_in(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _let_in(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            with anyio.fail_after(READ_SECONDS):
                body = await _read(Request(scope, receive))
            body = await door_thread.let_in(body)
        except ClientDisconnect:
            return
        except TimeoutError:
            refusal = door.DoorRefusal(door.INVALID_REQUEST, _WHOLE_MESSAGE)
            await _answer(refusal, 408, closes=True)(scope, receive, send)
            return
        except door.DoorRefusal as refusal:
            await _answer_for(refusal)(scope, receive, send)
            return
        unread: list[dict[str, Any]] = [{"type": "http.request", "body": body, "more_body": False}]
        connection = ServedConnection()

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


def _answer_for(refusal: door.DoorRefusal) -> Response:
    if isinstance(refusal, door.TooLargeRefusal):
        return _answer(refusal, 413, closes=True)
    busy = isinstance(refusal, door_thread.BusyRefusal)
    return _answer(refusal, 503 if busy else 400)


def _answer(refusal: door.DoorRefusal, status: int, *, closes: bool = False) -> Response:
    """It closes the connection if the rest of the body was not read."""
    headers = {"connection": "close"} if closes else {}
    return Response(refusal.to_bytes(), status, headers, "application/json")
