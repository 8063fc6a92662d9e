"""The strict door in front of an `MCPServer`, the SDK's high-level server, which leaves some
malformed messages unanswered. Knows no family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mcp.server.mcpserver import MCPServer

from .door_http import HttpDoor
from .host_names import names_checked


def http_app(
    server: MCPServer[Any],
    *,
    path: str = "/mcp",
    allowed_hosts: Sequence[str] = (),
    allowed_origins: Sequence[str] = (),
    **options: Any,
) -> HttpDoor:
    """An ASGI application; further `options` are those of `MCPServer.streamable_http_app`.

    Requests are served only under a loopback name, the `host` that it listens on or one of
    `allowed_hosts`, and from a page only of a loopback origin or one of `allowed_origins`, unless
    `transport_security` says otherwise.
    """
    hosts = [options["host"], *allowed_hosts] if "host" in options else allowed_hosts
    options.setdefault("transport_security", names_checked(hosts, allowed_origins))
    return HttpDoor(server.streamable_http_app(streamable_http_path=path, **options), path)


def run_stdio(server: MCPServer[Any]) -> None:
    """Serve standard input and output until input ends or SIGTERM comes."""
    from .stdio import run

    run(server._lowlevel_server)  # the SDK has no other way to use other files
