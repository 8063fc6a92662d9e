"""What a server shows of execution tokens before anybody has described it: a tool by its name."""

from __future__ import annotations

from ...target import Target
from ..base.driver import Driver
from ..base.proposal import Proposal, Wanted
from .settings import ExecutionTokensTable
from .vocabulary import APPROVE_TOOL, EXECUTE_TOOL

_USUAL = ExecutionTokensTable()


def gates(target: Target) -> frozenset[str]:
    """The tool that executes on a token, if its argument is there, too; and who approves."""
    listed = Driver(target).listing()
    schema = listed.get(EXECUTE_TOOL, {}).get("inputSchema")
    arguments = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(arguments, dict) or _USUAL.arguments["token"] not in arguments:
        return frozenset()
    return frozenset({EXECUTE_TOOL, APPROVE_TOOL} & set(listed))


def propose(target: Target) -> Proposal | None:
    """What to execute in tests, which only the user can say."""
    found = gates(target)
    if not found:
        return None
    return Proposal(
        f"{EXECUTE_TOOL} (an HMAC token with a nonce)",
        wanted=[
            Wanted(
                "contents",
                "contents that are safe to execute, again and again",
                example='["echo approved\\n", "echo something else\\n"]',
                is_text=False,
            ),
        ],
        notes=[
            "The key `secret` names what tokens are signed with in tests. Without it they come",
            f"from {APPROVE_TOOL}, and rules about forged tokens are not verified.",
        ],
        gates=found,
    )
