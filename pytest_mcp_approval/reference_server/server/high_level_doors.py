"""The strict door in front of an `MCPServer`, the SDK's high-level server, which leaves some
malformed messages unanswered. Knows no family."""

from __future__ import annotations

from typing import Any

from mcp.server.mcpserver import MCPServer

from .door_http import HttpDoor


def http_app(server: MCPServer[Any], *, path: str = "/mcp", **options: Any) -> HttpDoor:
    """An ASGI application; `options` are those of `MCPServer.streamable_http_app`."""
    return HttpDoor(server.streamable_http_app(streamable_http_path=path, **options), path)


def run_stdio(server: MCPServer[Any]) -> None:
    """Serve standard input and output until input ends or SIGTERM comes."""
    from .stdio import run

    run(server._lowlevel_server)  # the SDK has no other way to use other files
