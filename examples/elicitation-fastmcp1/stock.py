"""The same tools with `ctx.elicit` as it comes: python stock.py [--http PORT]"""

from __future__ import annotations

import sys

from mcp.server.fastmcp import Context, FastMCP
from mcp.types import ToolAnnotations
from pydantic import BaseModel

desk = FastMCP("user-desk", log_level="WARNING")
changes: list[str] = []


class Confirmation(BaseModel):
    confirm: bool


@desk.tool(annotations=ToolAnnotations(destructiveHint=True))
async def delete_user(user: str, reason: str, ctx: Context) -> str:
    """Delete a user for ever."""
    answer = await ctx.elicit(f"Delete the user {user}?", Confirmation)
    if answer.action != "accept" or not answer.data.confirm:
        return "not confirmed"
    changes.append(f"deleted {user}: {reason}")
    return changes[-1]


@desk.tool(annotations=ToolAnnotations(destructiveHint=True))
async def suspend_user(user: str, reason: str, ctx: Context) -> str:
    """Suspend a user."""
    answer = await ctx.elicit(f"Suspend the user {user}?", Confirmation)
    if answer.action != "accept" or not answer.data.confirm:
        return "not confirmed"
    changes.append(f"suspended {user}: {reason}")
    return changes[-1]


@desk.tool(annotations=ToolAnnotations(readOnlyHint=True))
def list_changes() -> list[str]:
    """Everything that was done so far."""
    return changes


if __name__ == "__main__":
    if "--http" in sys.argv:
        desk.settings.port = int(sys.argv[sys.argv.index("--http") + 1])
        desk.run("streamable-http")
    else:
        desk.run()
