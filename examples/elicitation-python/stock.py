"""The same tools with the SDK's helpers as they come: python stock.py [--http PORT]"""

from __future__ import annotations

import sys
from typing import Annotated, Any

from mcp.server.mcpserver import Elicit, MCPServer, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import BaseModel

server: MCPServer[Any] = MCPServer("user-desk", version="1.0", log_level="WARNING")
changes: list[str] = []


class Confirmation(BaseModel):
    confirm: bool


def ask_to_delete(user: str) -> Elicit[Confirmation]:
    return Elicit(f"Delete the user {user}?", Confirmation)


def ask_to_suspend(user: str) -> Elicit[Confirmation]:
    return Elicit(f"Suspend the user {user}?", Confirmation)


@server.tool(annotations=ToolAnnotations(destructive_hint=True))
def delete_user(
    user: str, reason: str, answer: Annotated[Confirmation, Resolve(ask_to_delete)]
) -> str:
    """Delete a user for ever."""
    if not answer.confirm:
        raise ToolError("not confirmed")
    changes.append(f"deleted {user}: {reason}")
    return changes[-1]


@server.tool(annotations=ToolAnnotations(destructive_hint=True))
def suspend_user(
    user: str, reason: str, answer: Annotated[Confirmation, Resolve(ask_to_suspend)]
) -> str:
    """Suspend a user."""
    if not answer.confirm:
        raise ToolError("not confirmed")
    changes.append(f"suspended {user}: {reason}")
    return changes[-1]


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def list_changes() -> list[str]:
    """Everything that was done so far."""
    return changes


if __name__ == "__main__":
    if "--http" in sys.argv:
        port = int(sys.argv[sys.argv.index("--http") + 1])
        server.run("streamable-http", host="localhost", port=port)
    else:
        server.run()
