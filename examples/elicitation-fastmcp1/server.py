"""A user desk whose dangerous tools ask a person first, by elicitation (FastMCP of mcp 1.x).

It speaks stdio, or HTTP with --http PORT.
"""

from __future__ import annotations

import argparse
from typing import Any

from approval import approved
from mcp.server.fastmcp import Context, FastMCP
from mcp.server.fastmcp.exceptions import ToolError
from mcp.types import ToolAnnotations

desk = FastMCP("user-desk", log_level="ERROR")
options = argparse.ArgumentParser(description=__doc__)
options.add_argument("--http", type=int, metavar="PORT", help="(default: stdio)")
options.add_argument("--patience", type=float, default=60, metavar="SECONDS")
given = options.parse_args()
changes: list[dict[str, Any]] = []


def check_exists(user: str) -> None:
    if user == "nobody":
        raise ToolError("There is no such user.")


# What a person reads names everything that is about to happen. `!r` writes control and direction
# characters out, so that a value cannot rewrite the sentence.
@desk.tool(annotations=ToolAnnotations(destructiveHint=True))
async def delete_user(user: str, reason: str, ctx: Context) -> str:
    """Delete a user for ever."""
    question = f"Delete the user {user!r} for ever? The reason: {reason!r}"
    await approved(ctx, question, given.patience)
    check_exists(user)
    changes.append({"tool": "delete_user", "arguments": {"user": user, "reason": reason}})
    return f"deleted {user}: {reason}"


@desk.tool(annotations=ToolAnnotations(destructiveHint=True))
async def suspend_user(user: str, reason: str, ctx: Context) -> str:
    """Suspend a user."""
    await approved(ctx, f"Suspend the user {user!r}? The reason: {reason!r}", given.patience)
    check_exists(user)
    changes.append({"tool": "suspend_user", "arguments": {"user": user, "reason": reason}})
    return f"suspended {user}: {reason}"


@desk.tool(annotations=ToolAnnotations(readOnlyHint=True))
def list_changes() -> list[dict[str, Any]]:
    """Everything that was done so far."""
    return changes


if __name__ == "__main__":
    if given.http is not None:
        desk.settings.port = given.http
    desk.run("stdio" if given.http is None else "streamable-http")
