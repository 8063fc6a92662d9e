"""A small, honest MCP server on the official SDK: what the wire is tried against.

Run as a program it serves `stdio`, or `http` on a free port that it prints first.
"""

import json
import socket
import sys
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata

TOOLS = ("ask", "echo", "talk", "wait")


async def list_tools(_: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    """Two tools a page, so that a client must turn pages."""
    start = int(params.cursor) if params is not None and params.cursor else 0
    page = [
        types.Tool(name=name, input_schema={"type": "object"}) for name in TOOLS[start : start + 2]
    ]
    following = str(start + 2) if start + 2 < len(TOOLS) else None
    return types.ListToolsResult(tools=page, next_cursor=following)


async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    text = json.dumps(params.arguments)
    match params.name:
        case "wait":
            await anyio.sleep_forever()
        case "talk":
            await context.session.report_progress(0.5, 1.0, "half way")
        case "ask":
            text = await ask(context)
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


async def ask(context: Any) -> str:
    """Put two requests to the client: one that every client answers, one that ours refuses."""
    about = ServerMessageMetadata(related_request_id=context.request_id)
    await context.session.send_request(types.PingRequest(), types.EmptyResult, metadata=about)
    try:
        roots = types.ListRootsRequest()
        await context.session.send_request(roots, types.ListRootsResult, metadata=about)
    except MCPError as refusal:
        return f"pong, roots {refusal.code}"
    return "pong, roots"


def build() -> Server[Any]:
    return Server("sample", version="1.2", on_list_tools=list_tools, on_call_tool=call_tool)


async def serve_stdio() -> None:
    from mcp.server.stdio import stdio_server

    server = build()
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def serve_http(json_answers: bool) -> None:
    import uvicorn

    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    config = uvicorn.Config(
        build().streamable_http_app(json_response=json_answers),
        log_level="warning",
        timeout_graceful_shutdown=1,
    )
    uvicorn.Server(config).run([listener])


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        anyio.run(serve_stdio)
    else:
        serve_http(json_answers=sys.argv[1] == "http-json")
