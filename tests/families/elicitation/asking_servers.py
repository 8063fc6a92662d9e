"""Servers that ask, written by hand: lawful ones with habits of their own, and hopeless ones.

Without any SDK and without the reference server: what is shared with the code under test could hide
what is wrong with it.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from typing import Any

Application = Callable[..., Any]
Call = Callable[[str, dict[str, Any]], dict[str, Any]]
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
YES = {"type": "object", "properties": {"yes": {"type": "boolean"}}, "required": ["yes"]}


class McpError(Exception):
    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message} | ({} if data is None else {"data": data})


def asks(message: str, schema: Any = YES, state: str = "", **params: Any) -> dict[str, Any]:
    """A result that asks."""
    asked = {"message": message, **({"requestedSchema": schema} if schema else {}), **params}
    return {
        "resultType": "input_required",
        "inputRequests": {"q": {"method": "elicitation/create", "params": asked}},
        **({"requestState": state} if state else {}),
    }


def says(text: str, *, is_error: bool = False) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


def sessionless(call: Call, *tools: str) -> Application:
    """An ASGI application of 2026-07-28."""

    def answer(message: dict[str, Any]) -> dict[str, Any]:
        method, params = message["method"], message.get("params", {})
        if method == "server/discover":
            return {
                "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}},
                "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "desk", "version": "1"}},
            }
        if method == "tools/list":
            schema = {"type": "object"}
            return {"tools": [{"name": one, "inputSchema": schema} for one in tools]}
        if method != "tools/call" or params.get("name") not in tools:
            raise McpError(-32601, "not here")
        return call(params["name"], params)

    async def application(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await live(receive, send)
            return
        body = await read_body(receive)
        message = json.loads(body) if scope["method"] == "POST" else {}
        if "id" not in message:
            await respond(send, 202 if message else 405, b"")
            return
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            reply["result"] = answer(message)
        except McpError as refusal:
            reply["error"] = refusal.error
        await respond(send, 200, json.dumps(reply).encode())

    return application


async def live(receive: Any, send: Any) -> None:
    while (event := await receive())["type"] != "lifespan.shutdown":
        await send({"type": f"{event['type']}.complete"})
    await send({"type": "lifespan.shutdown.complete"})


async def read_body(receive: Any) -> bytes:
    body, more = b"", True
    while more:
        part = await receive()
        body, more = body + part.get("body", b""), part.get("more_body", False)
    return body


async def respond(send: Any, status: int, body: bytes, kind: str = "application/json") -> None:
    headers = [(b"content-type", kind.encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


# ---- lawful


class Desk:
    """Asks twice, tells a no in plain words, and keeps its states in memory."""

    def __init__(self) -> None:
        self.done: list[dict[str, Any]] = []
        self.open: dict[str, tuple[int, str, str]] = {}
        self.app = sessionless(self.call, "delete_user", "archive_user", "list_done")

    def call(self, tool: str, params: dict[str, Any]) -> dict[str, Any]:
        if tool == "list_done":
            return {"content": [], "structuredContent": {"done": self.done}}
        arguments = params.get("arguments", {})
        if not isinstance(arguments, dict) or not isinstance(arguments.get("id"), str):
            return says("I need an id.", is_error=True)
        declared = params.get("_meta", {}).get(CAPABILITIES, {}).get("elicitation")
        if not isinstance(declared, dict) or (declared and "form" not in declared):
            needed = {"requiredCapabilities": {"elicitation": {"form": {}}}}
            raise McpError(-32021, "ask somebody", needed)
        bound = json.dumps([tool, arguments], sort_keys=True)
        state = params.get("requestState")
        if state is None:
            return self.question(0, bound)
        found = self.open.get(state) if isinstance(state, str) else None
        if found is None or found[1:] != (bound, tool):
            raise McpError(-32602, "Invalid or expired requestState")
        return self.answered(state, found[0], bound, params.get("inputResponses"), arguments)

    def question(self, number: int, bound: str) -> dict[str, Any]:
        tool, arguments = json.loads(bound)
        state = secrets.token_urlsafe(24)
        self.open[state] = (number, bound, tool)
        values = ", ".join(f"{name} {value!r}" for name, value in arguments.items())
        lead = ("About to", "Really, and for ever:")[number]
        return asks(f"{lead} {tool.replace('_', ' ')} with {values}?", state=state)

    def answered(
        self, state: str, number: int, bound: str, responses: Any, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        if not isinstance(responses, dict | None):
            raise McpError(-32602, "inputResponses: expected an object")
        response = (responses or {}).get("q")
        if response is None:
            return self.question(number, bound)
        if not isinstance(response, dict) or response.get("action") not in (
            *("accept", "decline", "cancel"),
        ):
            raise McpError(-32602, "action: expected accept, decline or cancel")
        del self.open[state]
        if response["action"] != "accept":
            return says("OK, I have left everything as it is. Nothing was changed.")
        content = response.get("content")
        if not isinstance(content, dict) or content.get("yes") is not True:
            return says("OK, I have left everything as it is. Nothing was changed.")
        if number == 0:
            return self.question(1, bound)
        self.done.append({"tool": json.loads(bound)[0], "arguments": arguments})
        return says(f"Done: {len(self.done)} so far.")


def two_rounds() -> Application:
    return Desk().app


# ---- hopeless


def never_asks() -> Application:
    return sessionless(lambda *_: says("Deleted."), "delete_user")


def nobody_can_answer() -> Application:
    form = {
        "type": "object",
        "properties": {"code": {"type": "string", "minLength": 9, "maxLength": 3}},
        "required": ["code"],
    }
    return sessionless(lambda *_: asks("Which code?", form, "s"), "delete_user")


def asks_for_ever() -> Application:
    return sessionless(lambda *_: asks("Sure?", YES, secrets.token_hex(4)), "delete_user")


def asks_by_voice() -> Application:
    return sessionless(lambda *_: asks("Sure?", None, "s", mode="voice"), "delete_user")


def without_sessions() -> Application:
    """Handshake era: the question goes out, and its answer reaches nobody."""
    import anyio

    async def application(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await live(receive, send)
            return
        message = json.loads(await read_body(receive) or b"{}")
        method = message.get("method")
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message.get("id")}
        if method == "initialize":
            reply["result"] = {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "desk", "version": "1"},
            }
        elif method == "tools/list":
            reply["result"] = {"tools": [{"name": "delete_user", "inputSchema": {}}]}
        elif method == "tools/call":
            await _ask_and_wait(receive, send, anyio)
            return
        elif "id" in message and method:
            reply["error"] = {"code": -32601, "message": "not here"}
        else:
            await respond(send, 202 if scope["method"] == "POST" else 405, b"")
            return
        await respond(send, 200, json.dumps(reply).encode())

    return application


async def _ask_and_wait(receive: Any, send: Any, anyio: Any) -> None:
    headers = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    question = {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "elicitation/create",
        "params": {"message": "Delete the user test-1?", "requestedSchema": YES},
    }
    event = b"event: message\ndata: " + json.dumps(question).encode() + b"\n\n"
    await send({"type": "http.response.body", "body": event, "more_body": True})
    with anyio.move_on_after(30):
        while (await receive())["type"] != "http.disconnect":
            continue
