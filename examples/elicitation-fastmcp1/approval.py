"""What `ctx.elicit` of mcp 1.x leaves open, closed. Copy this file; `server.py` shows its use.

`ctx.elicit` asks clients that never said that they can ask a person, takes "yes", "on" and 1 for
true, and waits for an answer for ever.
"""

from __future__ import annotations

import anyio
from mcp.server.fastmcp import Context
from mcp.server.fastmcp.exceptions import ToolError
from pydantic import BaseModel, ConfigDict


class Confirmation(BaseModel):
    # Strict: otherwise "yes", "on" and 1 count as true. Nothing that was not asked for is taken.
    model_config = ConfigDict(strict=True, extra="forbid")

    confirm: bool


async def approved(ctx: Context, question: str, patience: float = 60) -> None:
    """Return if a person said yes to this question; else raise, and the tool has not run."""
    client = ctx.session.client_params
    declared = client.capabilities.elicitation if client is not None else None
    # `elicitation: {}` means forms; a client that names only `url` cannot show one.
    if declared is None or (declared.form is None and declared.url is not None):
        raise ToolError("Nothing was done: this client cannot ask a person (elicitation, form).")
    with anyio.move_on_after(patience) as waited:
        answer = await ctx.elicit(question, Confirmation)
    if waited.cancelled_caught:
        raise ToolError("Nothing was done: nobody answered in time.")
    if answer.action != "accept" or answer.data.confirm is not True:
        raise ToolError("Nothing was done: it was not confirmed.")
