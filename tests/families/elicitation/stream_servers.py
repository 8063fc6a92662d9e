"""A server of the handshake era that asks on the session's own stream, written by hand.

As the TypeScript SDK's `server.elicitInput` does it: a question for which nobody listens is
dropped, and its call never ends. `archive_user` asks on its call's own stream instead.
"""

from __future__ import annotations

import json
from typing import Any

import anyio

from tests.families.elicitation.asking_servers import (
    YES,
    Application,
    live,
    read_body,
    respond,
    says,
)

_HEADERS = [(b"content-type", b"text/event-stream"), (b"mcp-session-id", b"s1")]
_TOOLS = ("delete_user", "archive_user", "list_done")


def _event(message: dict[str, Any]) -> bytes:
    return b"event: message\ndata: " + json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n\n"


class StreamDesk:
    """One session is enough."""

    def __init__(self, *, shows_users: bool = False) -> None:
        self.shows_users = shows_users
        self.users = ["test-1"]
        self.done = 0
        self.asked = 0
        self.listener: Any = None
        self.answers: dict[int, Any] = {}
        self.came = anyio.Event()

    async def app(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await live(receive, send)
            return
        if scope["method"] == "GET":
            await self._serve_stream(receive, send)
            return
        message = json.loads(await read_body(receive) or b"{}")
        if "method" not in message and "id" in message:
            self.answers[message["id"]] = message.get("result")
            self.came.set()
            self.came = anyio.Event()
        if "method" not in message or "id" not in message:
            await respond(send, 202, b"")
        elif message["method"] == "tools/call":
            await self._call(message, send)
        else:
            reply = {"jsonrpc": "2.0", "id": message["id"], **_told(message["method"])}
            await respond(send, 200, json.dumps(reply).encode())

    async def _serve_stream(self, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        await send({"type": "http.response.body", "body": b": open\n\n", "more_body": True})
        self.listener = send
        while (await receive())["type"] != "http.disconnect":
            continue
        self.listener = None

    async def _call(self, message: dict[str, Any], send: Any) -> None:
        name = message["params"]["name"]
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        if name == "list_done":
            shown = self.users if self.shows_users else ["a user"] * self.done
            answer = {"content": [], "structuredContent": {"done": shown}}
        else:
            where = send if name == "archive_user" else self.listener
            answer = await self._ask(where)
        body = _event({"id": message["id"], "result": answer})
        await send({"type": "http.response.body", "body": body})

    async def _ask(self, where: Any) -> dict[str, Any]:
        self.asked += 1
        number = 1000 + self.asked
        if where is not None:
            params = {"message": "Delete the user test-1?", "requestedSchema": YES}
            question = {"id": number, "method": "elicitation/create", "params": params}
            body = _event(question)
            await where({"type": "http.response.body", "body": body, "more_body": True})
        with anyio.move_on_after(20):
            while number not in self.answers:
                await self.came.wait()
            if self.answers[number] != {"action": "accept", "content": {"yes": True}}:
                return says("Nothing was changed.", is_error=True)
            self.done += 1
            self.users.clear()
        return says("deleted")


def _told(method: str) -> dict[str, Any]:
    if method == "initialize":
        info = {"name": "desk", "version": "1"}
        return {
            "result": {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": info,
            }
        }
    if method == "tools/list":
        return {"result": {"tools": [{"name": one, "inputSchema": {}} for one in _TOOLS]}}
    return {"error": {"code": -32601, "message": "not here"}}


def asks_on_the_sessions_stream() -> Application:
    return StreamDesk().app


def deletes_once() -> Application:
    """Its list shows the users that are left: after the first time nothing changes any more."""
    return StreamDesk(shows_users=True).app


def changes_nothing() -> Application:
    """Deletes somebody who is not there."""
    desk = StreamDesk(shows_users=True)
    desk.users.clear()
    return desk.app
