"""A small bank whose payments need a passkey, and whose letters a yes. It is started by

python server.py --http localhost:8080
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bank_tools
from approval import approval_by_passkey, approval_by_question
from mcp.server.mcpserver import MCPServer

from pytest_mcp_approval.reference_server import http_app, run_stdio

DEFAULT_ORIGIN = "http://localhost"


def build(database: Path, origins: Sequence[str], server_id: str | None = None) -> MCPServer[Any]:
    """The server, for any transport."""
    approval = approval_by_passkey(database, origins, server_id)
    server: MCPServer[Any] = MCPServer(
        "small-bank",
        version="1.0",
        log_level="WARNING",
        extensions=[approval],
        middleware=[approval.middleware],
    )
    bank_tools.register(server, approval, approval_by_question(database), bank_tools.Bank())
    return server


def factory(state: Path) -> Any:
    """For tests in one process: an ASGI application with its state in this folder."""
    return http_app(build(state / "approvals.db", [DEFAULT_ORIGIN]))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--http", metavar="HOST:PORT", help="serve Streamable HTTP at /mcp")
    options.add_argument("--stdio", action="store_true", help="serve standard input and output")
    options.add_argument("--database", type=Path, default=Path("approvals.db"), metavar="PATH")
    options.add_argument(
        "--origin", action="append", help="a page that users approve on; repeatable"
    )
    options.add_argument(
        "--allowed-host",
        action="append",
        default=[],
        metavar="NAME",
        help="serve under this name too; repeatable (default: loopback and the HOST of --http)",
    )
    options.add_argument("--server-id", metavar="ID", help="(default: random, in the database)")
    given = options.parse_args()
    if given.stdio == bool(given.http):
        options.error("expected one of --http HOST:PORT and --stdio")
    if given.stdio:
        run_stdio(build(given.database, given.origin or [DEFAULT_ORIGIN], given.server_id))
        return
    host, _, port = given.http.rpartition(":")
    if not host or not port.isdigit():
        options.error(f"--http: got {given.http!r}, expected HOST:PORT such as localhost:8080")
    serve_http(given, host, int(port))


def serve_http(given: argparse.Namespace, host: str, port: int) -> None:
    import uvicorn

    origins = given.origin or [DEFAULT_ORIGIN, f"http://{host}:{port}"]
    app = http_app(
        build(given.database, origins, given.server_id),
        host=host,
        allowed_hosts=given.allowed_host,
        allowed_origins=origins,
    )
    uvicorn.run(app, host=host, port=port, log_level="warning", timeout_graceful_shutdown=3)


if __name__ == "__main__":
    main()
