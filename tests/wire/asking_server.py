"""A server on the official SDK whose tools ask the person before they do anything.

What the client's role is tried against: the high-level API where it suffices, the low-level session
where a question is to come on the session's own stream. Run as a program it serves `stdio`, or
`http` on a free port that it prints first.
"""

import socket
import sys
from typing import Any

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"confirm": {"type": "boolean"}}}


class Confirmation(BaseModel):
    confirm: bool


def build() -> MCPServer:
    server = MCPServer("asking")
    deleted: list[str] = []

    @server.tool()
    async def delete(account: str, context: Context) -> str:
        """Asks on the call's own stream."""
        try:
            answer = await context.elicit(f"Delete {account}?", Confirmation)
        except MCPError as refusal:
            return f"refused with {refusal.code}"
        if answer.action != "accept" or not answer.data.confirm:
            return f"kept {account}: {answer.action}"
        deleted.append(account)
        return f"deleted {account}"

    @server.tool()
    async def delete_aside(account: str, context: Context) -> str:
        """Asks on the session's stream, where there is one."""
        session = context.request_context.session
        answer = await session.elicit_form(f"Delete {account}?", SCHEMA)
        if answer.action == "accept":
            deleted.append(account)
        return answer.action

    @server.tool()
    async def delete_two(context: Context) -> str:
        """Two questions at once."""
        said: dict[str, str] = {}

        async def ask(account: str) -> None:
            said[account] = (await context.elicit(f"Delete {account}?", Confirmation)).action

        async with anyio.create_task_group() as group:
            group.start_soon(ask, "a")
            group.start_soon(ask, "b")
        return f"a {said['a']}, b {said['b']}"

    @server.tool()
    async def visit(context: Context) -> str:
        """A page, and the notification that the person is done there."""
        answer = await context.elicit_url("Log in", "http://localhost:1/login", "page-1")
        if answer.action == "accept":
            session = context.request_context.session
            await session.send_elicit_complete("page-1", related_request_id=context.request_id)
        return answer.action

    @server.tool()
    async def show_deleted() -> str:
        """Asks nobody."""
        return ",".join(deleted)

    return server


def serve_http() -> None:
    import uvicorn

    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    config = uvicorn.Config(
        build().streamable_http_app(), log_level="warning", timeout_graceful_shutdown=1
    )
    uvicorn.Server(config).run([listener])


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        build().run("stdio")
    else:
        serve_http()
