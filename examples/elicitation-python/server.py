"""A user desk whose dangerous tools ask a person first, by elicitation (mcp 2.x).

    python server.py [--http PORT] [--database PATH] [--patience SECONDS]

Over HTTP callers are known by tokens: DESK_TOKENS="token-of-ann=ann token-of-ben=ben".
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Annotated, Any

from approval import Approvals, Confirmation, give_up_after
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.settings import AuthSettings
from mcp.server.elicitation import ElicitationResult
from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

DESTRUCTIVE = ToolAnnotations(destructive_hint=True)
READ_ONLY = ToolAnnotations(read_only_hint=True)
Answer = ElicitationResult[Confirmation]


# What a person reads names everything that is about to happen. `!r` writes control and direction
# characters out, so that a value cannot rewrite the sentence.
def ask_to_delete(user: str, reason: str) -> Elicit[Confirmation]:
    return Elicit(f"Delete the user {user!r} for ever? The reason: {reason!r}", Confirmation)


def ask_to_suspend(user: str, reason: str) -> Elicit[Confirmation]:
    return Elicit(f"Suspend the user {user!r}? The reason: {reason!r}", Confirmation)


def check_exists(user: str) -> None:
    if user == "nobody":
        raise ToolError("There is no such user.")


def build(approvals: Approvals, patience: float, **more: Any) -> MCPServer[Any]:
    """The server, for any transport."""
    server: MCPServer[Any] = MCPServer(
        "user-desk",
        version="1.0",
        log_level="ERROR",
        request_state_security=approvals.security,
        middleware=[give_up_after(patience)],
        **more,
    )
    changes: list[dict[str, Any]] = []

    @server.tool(annotations=DESTRUCTIVE)
    def delete_user(
        ctx: Context, user: str, reason: str, answer: Annotated[Answer, Resolve(ask_to_delete)]
    ) -> str:
        """Delete a user for ever."""
        approvals.use(ctx, answer)
        check_exists(user)
        changes.append({"tool": "delete_user", "arguments": {"user": user, "reason": reason}})
        return f"deleted {user}: {reason}"

    @server.tool(annotations=DESTRUCTIVE)
    def suspend_user(
        ctx: Context, user: str, reason: str, answer: Annotated[Answer, Resolve(ask_to_suspend)]
    ) -> str:
        """Suspend a user."""
        approvals.use(ctx, answer)
        check_exists(user)
        changes.append({"tool": "suspend_user", "arguments": {"user": user, "reason": reason}})
        return f"suspended {user}: {reason}"

    @server.tool(annotations=READ_ONLY)
    def list_changes() -> list[dict[str, Any]]:
        """Everything that was done so far."""
        return changes

    return server


class Tokens(TokenVerifier):
    """Who is calling. Yours come from your identity provider; the approval is bound to them."""

    def __init__(self, given: str) -> None:
        self._users = dict(one.split("=") for one in given.split())

    async def verify_token(self, token: str) -> AccessToken | None:
        if (user := self._users.get(token)) is None:
            return None
        return AccessToken(token=token, client_id="desk", subject=user, scopes=[])


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--http", type=int, metavar="PORT", help="(default: stdio)")
    options.add_argument("--database", type=Path, default=Path("approvals.db"), metavar="PATH")
    options.add_argument("--patience", type=float, default=60, metavar="SECONDS")
    given = options.parse_args()
    approvals = Approvals(given.database)
    if given.http is None:
        build(approvals, given.patience).run()
        return
    here = f"http://localhost:{given.http}"
    auth = AuthSettings.model_validate({"issuer_url": here, "resource_server_url": f"{here}/mcp"})
    tokens = Tokens(os.environ.get("DESK_TOKENS", ""))
    server = build(approvals, given.patience, auth=auth, token_verifier=tokens)
    server.run("streamable-http", host="localhost", port=given.http)


if __name__ == "__main__":
    main()
