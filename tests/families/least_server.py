"""A minimal MCP server over Streamable HTTP, the base of servers that are not ours.

Written by hand, without any SDK and without the reference server: what is shared with the code
under test could hide what is wrong with it. Knows no family.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

UNKNOWN_METHOD = -32601

Application = Callable[..., Any]


class AnsweredWithError(Exception):
    """A call is answered with `error`."""

    error: dict[str, Any]


def serve(
    name: str, tools: Iterable[str], call: Callable[[str, dict[str, Any]], dict[str, Any]]
) -> Application:
    """An ASGI application of the handshake era; `call` returns the structured content of a tool."""
    names = list(tools)

    def answer(message: dict[str, Any]) -> dict[str, Any] | None:
        if "id" not in message:
            return None
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        method, params = message["method"], message.get("params", {})
        if method == "initialize":
            result: Any = {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": name, "version": "1"},
            }
        elif method == "tools/list":
            schema = {"type": "object"}
            result = {"tools": [{"name": one, "inputSchema": schema} for one in names]}
        elif method == "tools/call" and params.get("name") in names:
            try:
                given = call(params["name"], params.get("arguments", {}))
            except AnsweredWithError as refusal:
                return {**reply, "error": refusal.error}
            result = {"content": [], "structuredContent": given}
        else:
            return {**reply, "error": {"code": UNKNOWN_METHOD, "message": "not here"}}
        return {**reply, "result": result}

    async def application(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            while (event := await receive())["type"] != "lifespan.shutdown":
                await send({"type": f"{event['type']}.complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        body, more = b"", True
        while more:
            part = await receive()
            body, more = body + part.get("body", b""), part.get("more_body", False)
        said = answer(json.loads(body)) if scope["method"] == "POST" else None
        headers = [(b"content-type", b"application/json")]
        status = 202 if said is None else 200
        await send({"type": "http.response.start", "status": status, "headers": headers})
        text = b"" if said is None else json.dumps(said).encode()
        await send({"type": "http.response.body", "body": text})

    return application
